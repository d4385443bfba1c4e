import type { QueryFunctionContext } from "@tanstack/react-query";
import type { ApiPath } from "../client/paths";
import { getNew } from "./api";

interface Dated {
  readonly at: string;
}

/** The tag of the answer that each query has in its cache; only an answer that is still there is not asked for again. */
const tags = new WeakMap<object, Map<string, string>>();

/**
 * A query function for what is asked for again and again: the server is told which answer is there already, and where
 * nothing changed, that answer stays, with the server's time of now.
 */
export const polled =
  <T extends Dated>(path: ApiPath<"get">, query: Record<string, unknown>) =>
  async ({ client, queryKey }: QueryFunctionContext): Promise<T> => {
    const known = client.getQueryData<T>(queryKey);
    const mine = tags.get(client) ?? new Map<string, string>();
    tags.set(client, mine);
    const name = JSON.stringify(queryKey);
    const { data, tag, at } = await getNew<T>(path, query, known && mine.get(name));
    if (tag) mine.set(name, tag);
    else mine.delete(name);
    if (data !== undefined) return data;
    return { ...(known as T), at: at.toISOString() };
  };

import type { QueryFunctionContext } from "@tanstack/react-query";
import type { ApiPath, Query, ResponseBody } from "../client/paths";
import { getIfChanged } from "./api";

/** The tag of the answer that each query has in its cache; only an answer that is still there is not asked for again. */
const tags = new WeakMap<object, Map<string, string>>();

/**
 * Return a query function for polling: it sends the tag of the cached answer. Where nothing changed, that answer
 * stays, with the current time of the server.
 */
export const fetchUnlessUnchanged =
  <const P extends ApiPath<"get">>(path: P, query: Query<"get", P>) =>
  async ({ client, queryKey }: QueryFunctionContext): Promise<ResponseBody<"get", P>> => {
    const known = client.getQueryData<ResponseBody<"get", P>>(queryKey);
    const mine = tags.get(client) ?? new Map<string, string>();
    tags.set(client, mine);
    const name = JSON.stringify(queryKey);
    const { data, tag, at } = await getIfChanged(path, query, known && mine.get(name));
    if (tag) mine.set(name, tag);
    else mine.delete(name);
    if (data !== undefined) return data;
    return Object.assign({}, known as ResponseBody<"get", P>, { at: at.toISOString() });
  };

import type { QueryFunctionContext } from "@tanstack/react-query";
import type { ApiPath, Query, ResponseBody } from "../../client/paths";
import { getIfChanged } from "../api";

/** ETag of the cached response of each query, per query client. A tag is sent only while the response is cached. */
const tags = new WeakMap<object, Map<string, string>>();

/**
 * Return a query function for polling. It sends the ETag of the cached response. On 304 Not Modified it returns the
 * cached response, with `at` set to the current time of the server.
 */
export const fetchUnlessUnchanged =
  <const P extends ApiPath<"get">>(path: P, query: Query<"get", P>) =>
  async ({ client, queryKey }: QueryFunctionContext): Promise<ResponseBody<"get", P>> => {
    const cached = client.getQueryData<ResponseBody<"get", P>>(queryKey);
    const clientTags = tags.get(client) ?? new Map<string, string>();
    tags.set(client, clientTags);
    const name = JSON.stringify(queryKey);
    const { data, tag, at } = await getIfChanged(path, query, cached && clientTags.get(name));
    if (tag) clientTags.set(name, tag);
    else clientTags.delete(name);
    if (data !== undefined) return data;
    return Object.assign({}, cached as ResponseBody<"get", P>, { at: at.toISOString() });
  };

import type { FetchQueryOptions, QueryClient, QueryKey } from "@tanstack/react-query";

/** Fetch what a page will query if the cache has nothing of it. Errors are left to the page, which fetches again. */
export function prefetchMissing<Data, Key extends QueryKey>(
  queries: QueryClient,
  options: FetchQueryOptions<Data, Error, Data, Key>,
): void {
  void queries.prefetchQuery({ ...options, staleTime: Number.POSITIVE_INFINITY });
}

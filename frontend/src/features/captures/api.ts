/** Names for the schemas of the API that this folder uses, and the pages of older captures. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { components } from "../../client/schema";
import { type CaptureFilter, get, queryKeys } from "../../lib/queries";

type Schemas = components["schemas"];
export type CollectorOption = Schemas["CollectorOptionResponse"];

/** Load the captures after `cursor`, the end of the newest page, page by page. */
export const useOlderCaptures = (filter: CaptureFilter, cursor: string | null, enabled: boolean) =>
  useInfiniteQuery({
    queryKey: [...queryKeys.captures, "older", filter, cursor],
    queryFn: ({ pageParam }) => get("/captures", { ...filter, limit: 100, cursor: pageParam ?? undefined }),
    initialPageParam: cursor,
    getNextPageParam: (page) => page.next,
    enabled,
    placeholderData: keepPreviousData,
  });

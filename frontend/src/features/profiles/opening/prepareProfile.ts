import type { QueryClient } from "@tanstack/react-query";
import { treeWidth } from "../../../core/profiles/treeWidth";
import type { Search } from "../../../core/search";
import { parseFields } from "../../../lib/urlFields";
import { profileQuery, treeQuery } from "../api";
import { isTreeView, PROFILE_FIELDS, toSelection, toTreeView } from "../filter";

/** Prefetch the profile and the tree that a URL displays. */
export function prepareProfile(
  queries: QueryClient,
  { profileId }: Readonly<Record<string, string>>,
  search: Search,
): void {
  if (!profileId) return;
  const state = parseFields(PROFILE_FIELDS, search);
  void queries.prefetchQuery(profileQuery(profileId));
  if (isTreeView(state.view))
    void queries.prefetchQuery(
      treeQuery(profileId, toSelection(state), toTreeView(state, treeWidth(window.innerWidth))),
    );
}

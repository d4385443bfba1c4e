import type { QueryClient } from "@tanstack/react-query";
import { killSwitchesQuery } from "../../features/kill-switch/KillSwitchBar";
import { oncallQuery } from "../../lib/captures/schedules";
import { platformStateQuery } from "../../lib/platform";
import { meQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

/** Prefetch what the frame of each page displays, at the same time as the signed-in user. */
export function prepareShell(queries: QueryClient): void {
  void queries.prefetchQuery(meQuery);
  prefetchMissing(queries, platformStateQuery);
  prefetchMissing(queries, oncallQuery);
  prefetchMissing(queries, killSwitchesQuery);
}

import type { QueryClient } from "@tanstack/react-query";
import type { Search } from "../../core/search";
import { catalogQuery, hostsQuery, overviewQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

/** Prefetch the hosts and the runs of the host that the page compares: that of the URL, else the first one. */
export function prepareWhatChanged(
  queries: QueryClient,
  _: Readonly<Record<string, string>>,
  { host, base }: Search,
): void {
  prefetchMissing(queries, catalogQuery);
  const hosts = queries.ensureQueryData(hostsQuery());
  for (const id of [host, base])
    if (typeof id === "string" && id) prefetchMissing(queries, overviewQuery(id));
  if (host) return;
  hosts.then(
    ([first]) => first && prefetchMissing(queries, overviewQuery(first.id)),
    () => undefined,
  );
}

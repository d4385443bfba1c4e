import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { hasLabel, matchesHostSearch, type Sort, sortHosts } from "../../core/hosts/fleet";
import { useFleetPeers } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import type { FleetFinding, FleetHost, FleetRule } from "./api";
import { FIELDS } from "./fields";

/**
 * Load the whole fleet, which the browser filters by label without another request. If the response omits hosts
 * (`left_out`), load only the hosts with label `has`.
 */
export function useFilteredHosts<Fleet extends { left_out: number }>(
  useThese: (has: string, enabled: boolean) => UseQueryResult<Fleet>,
  has: string,
  enabled: boolean,
): UseQueryResult<Fleet> {
  const whole = useThese("", enabled);
  const isTruncated = has !== "" && (whole.data?.left_out ?? 0) > 0;
  const labeled = useThese(has, enabled && isTruncated);
  return isTruncated && labeled.data ? labeled : whole;
}

/** Return the hosts that match the filters in the URL, in the selected order. */
export function useVisibleRows<H extends FleetHost>(
  hosts: readonly H[] | undefined,
  results: (host: H) => readonly FleetFinding[],
): H[] {
  const [{ has, q, sort }] = useUrlState(FIELDS);
  return useMemo(
    () =>
      sortHosts(
        (hosts ?? []).filter((host) => hasLabel(host, has) && matchesHostSearch(host, q)),
        sort as Sort,
        results,
      ),
    [hosts, has, q, sort, results],
  );
}

/** Load the peer groups with the options in the URL. */
export function usePeers(enabled: boolean) {
  const [{ has, label, measure, fresh }] = useUrlState(FIELDS);
  return useFleetPeers({ has, label, measure, within: Number(fresh) }, enabled);
}

export type Rules = Readonly<Record<string, FleetRule>>;

/** Return the rule IDs of a column: the rules of a USE category, or the rule of a findings column. */
export function rulesOfResource(rules: Rules, column: string): ReadonlySet<string> {
  const placed = Object.entries(rules).filter(
    ([, rule]) => `${rule.resource}.${rule.use_category}` === column,
  );
  return new Set(placed.length > 0 ? placed.map(([id]) => id) : [column]);
}

import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { hasLabel, matchColumn, type Sort, sortHosts } from "../../core/hosts/fleet";
import { useFleetPeers } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import type { FleetFinding, FleetHost, FleetRule } from "./api";
import { FIELDS } from "./fields";

/**
 * The whole fleet, filtered here by label, so that another label needs no request. Only where the server had to leave
 * hosts out does it request the hosts with the label alone.
 */
export function useFilteredHosts<Fleet extends { left_out: number }>(
  useThese: (has: string, enabled: boolean) => UseQueryResult<Fleet>,
  has: string,
  enabled: boolean,
): UseQueryResult<Fleet> {
  const whole = useThese("", enabled);
  const cut = has !== "" && (whole.data?.left_out ?? 0) > 0;
  const part = useThese(has, enabled && cut);
  return cut && part.data ? part : whole;
}

/** The filtered hosts of a view, in the selected order. */
export function useVisibleRows<H extends FleetHost>(
  hosts: readonly H[] | undefined,
  results: (host: H) => readonly FleetFinding[],
): H[] {
  const [{ has, q, sort }] = useUrlState(FIELDS);
  return useMemo(
    () =>
      sortHosts(
        (hosts ?? []).filter((host) => hasLabel(host, has) && matchColumn(host, q)),
        sort as Sort,
        results,
      ),
    [hosts, has, q, sort, results],
  );
}

/** The outliers, with the options in the URL. */
export function usePeers(enabled: boolean) {
  const [{ has, label, measure, fresh }] = useUrlState(FIELDS);
  return useFleetPeers({ has, label, measure, within: Number(fresh) }, enabled);
}

export type Rules = Readonly<Record<string, FleetRule>>;

/** The rules of a column: those of a USE category, or the rule of a findings column. */
export function rulesOfResource(rules: Rules, column: string): ReadonlySet<string> {
  const placed = Object.entries(rules).filter(
    ([, rule]) => `${rule.resource}.${rule.use_category}` === column,
  );
  return new Set(placed.length > 0 ? placed.map(([id]) => id) : [column]);
}

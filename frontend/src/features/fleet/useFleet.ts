import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import type { FleetHost, FleetRule, FleetWord } from "../../client/types";
import { carries, meant, type Sort, sorted } from "../../core/fleet";
import { useFleetPeers } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { FIELDS } from "./fields";

/**
 * The whole fleet, narrowed here to hosts with a label, so that choosing another one waits for nobody. Only where the
 * server had to leave hosts out is it asked for those with the label alone.
 */
export function useNarrowed<Fleet extends { left_out: number }>(
  useThese: (has: string, wanted: boolean) => UseQueryResult<Fleet>,
  has: string,
  wanted: boolean,
): UseQueryResult<Fleet> {
  const whole = useThese("", wanted);
  const cut = has !== "" && (whole.data?.left_out ?? 0) > 0;
  const part = useThese(has, wanted && cut);
  return cut && part.data ? part : whole;
}

/** The hosts of a view that are meant, in the order that was asked for. */
export function useShown<H extends FleetHost>(
  hosts: readonly H[] | undefined,
  words: (host: H) => readonly FleetWord[],
): H[] {
  const [{ has, q, sort }] = useUrlState(FIELDS);
  return useMemo(
    () =>
      sorted(
        (hosts ?? []).filter((one) => carries(one, has) && meant(one, q)),
        sort as Sort,
        words,
      ),
    [hosts, has, q, sort, words],
  );
}

/** Who is unlike the others, by what the address says. */
export function usePeers(wanted: boolean) {
  const [{ has, label, measure, fresh }] = useUrlState(FIELDS);
  return useFleetPeers({ has, label, measure, within: Number(fresh) }, wanted);
}

export type Rules = Readonly<Record<string, FleetRule>>;

/** The rules of a column of either grid: those of a place, or the one that the column is. */
export function rulesAbout(rules: Rules, column: string): ReadonlySet<string> {
  const placed = Object.entries(rules).filter(([, one]) => `${one.resource}.${one.letter}` === column);
  return new Set(placed.length > 0 ? placed.map(([id]) => id) : [column]);
}

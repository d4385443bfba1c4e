import type { components } from "../../client/schema";
import { formatRange, type Range } from "../../core/time/range";
import { choiceField, flagField, intField, rangeField, textField } from "../../lib/urlState";

/** Which samples count, in the words of the API. Absent means all. */
export type Filter = components["schemas"]["ProfileFilterParams"];

export const VIEWS = ["flame", "icicle", "callers", "table", "both"] as const;
export type View = (typeof VIEWS)[number];

/** The whole state of the profile panel in the address. */
export const PROFILE_FIELDS = {
  b: rangeField,
  c: rangeField,
  cpu: intField,
  pid: intField,
  tid: intField,
  comm: textField,
  q: textField,
  root: textField,
  view: choiceField<View>(VIEWS, "flame"),
  idle: flagField,
};

export interface ProfileState {
  b: Range | undefined;
  cpu: number | undefined;
  pid: number | undefined;
  tid: number | undefined;
  comm: string;
  idle: boolean;
}

export function toFilter(state: ProfileState, range: Range | undefined = state.b): Filter {
  return {
    from_ns: range ? Math.round(range.from) : undefined,
    to_ns: range ? Math.round(range.to) : undefined,
    cpu: state.cpu === undefined ? undefined : [state.cpu],
    pid: state.pid === undefined ? undefined : [state.pid],
    tid: state.tid === undefined ? undefined : [state.tid],
    comm: state.comm ? [state.comm] : undefined,
    hide_idle: state.idle || undefined,
  };
}

/** The filter as the part of an address that opens the profile with it. */
export function toSearch(filter: Filter): Record<string, string | undefined> {
  const { from_ns, to_ns } = filter;
  return {
    b: from_ns != null && to_ns != null ? formatRange({ from: from_ns, to: to_ns }) : undefined,
    cpu: single(filter.cpu),
    pid: single(filter.pid),
    tid: single(filter.tid),
    comm: single(filter.comm),
    idle: filter.hide_idle ? "1" : undefined,
  };
}

/** An address holds one value of each; a profile opens without what has more. */
const single = (values: readonly (string | number)[] | undefined): string | undefined =>
  values?.length === 1 ? String(values[0]) : undefined;

export const isFiltered = (filter: Filter): boolean =>
  Object.values(filter).some((value) => value !== undefined && value !== null);

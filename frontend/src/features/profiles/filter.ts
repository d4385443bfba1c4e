import { formatRange, type Range } from "../../core/range";
import { choiceField, flagField, intField, rangeField, textField } from "../../lib/urlState";

/** Which samples count, in the words of the API. Absent means all. */
export interface Filter {
  from_ns?: number | undefined;
  to_ns?: number | undefined;
  cpu?: number | undefined;
  pid?: number | undefined;
  tid?: number | undefined;
  comm?: string | undefined;
  hide_idle?: boolean | undefined;
}

export const VIEWS = ["flame", "icicle", "callers", "table", "both"] as const;
export type View = (typeof VIEWS)[number];

/** The whole state of the profile panel as it stands in the address. */
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
    cpu: state.cpu,
    pid: state.pid,
    tid: state.tid,
    comm: state.comm || undefined,
    hide_idle: state.idle || undefined,
  };
}

/** The filter as the part of an address that opens the profile with it. */
export function toSearch(filter: Filter): Record<string, string | undefined> {
  const { from_ns, to_ns } = filter;
  return {
    b: from_ns != null && to_ns != null ? formatRange({ from: from_ns, to: to_ns }) : undefined,
    cpu: filter.cpu?.toString(),
    pid: filter.pid?.toString(),
    tid: filter.tid?.toString(),
    comm: filter.comm ?? undefined,
    idle: filter.hide_idle ? "1" : undefined,
  };
}

export const isFiltered = (filter: Filter): boolean =>
  Object.values(filter).some((value) => value !== undefined && value !== null);

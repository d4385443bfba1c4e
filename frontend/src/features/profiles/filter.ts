import type { components } from "../../client/schema";
import { COLORS, type ColorBy } from "../../core/profiles/colors";
import { formatRange, type Range } from "../../core/time/range";
import { choiceField, flagField, intField, listField, rangeField, textField } from "../../lib/urlFields";

/** Filter of samples, as query parameters of the API. An absent field selects all samples. */
export type Filter = components["schemas"]["ProfileFilterParams"];

/** Transformations of stacks before they are rendered, as query parameters of the API. */
export interface StackChanges {
  focus?: string | undefined;
  hide?: string[] | undefined;
  fold?: boolean | undefined;
  group_unnamed?: boolean | undefined;
}

export const VIEWS = ["flame", "icicle", "callers", "sandwich", "time", "tree", "table", "both"] as const;
export type View = (typeof VIEWS)[number];

export const TRACK_GROUPINGS = ["none", "thread", "process", "cpu"] as const;
export type TrackGrouping = (typeof TRACK_GROUPINGS)[number];

/** Filter of the samples, and transformations of their stacks. */
export type Selection = Filter & StackChanges;

/** Visible part of a tree. `width` is in px: the server omits frames that would be narrower than half a pixel. */
export interface TreeView {
  width: number;
  path: readonly string[];
  root?: number | undefined;
  callers: boolean;
}

/** URL parameters of the profile panel. */
export const PROFILE_FIELDS = {
  b: rangeField,
  c: rangeField,
  cpu: intField,
  pid: intField,
  tid: intField,
  comm: textField,
  mod: textField,
  cg: textField,
  stack: textField,
  q: textField,
  /** Zoom: frame names from below the root to the zoomed frame. */
  at: listField,
  /** Zoom as a node ID, in URLs of old pins; replaced by `at` when the tree has loaded. */
  root: intField,
  /** Function of the sandwich view. */
  fn: textField,
  /** Function whose instructions are displayed, and the path of its module. */
  code: textField,
  codeModule: textField,
  focus: textField,
  hide: listField,
  norec: flagField,
  group: flagField,
  color: choiceField<ColorBy>(COLORS, "kind"),
  tracks: choiceField<TrackGrouping>(TRACK_GROUPINGS, "none"),
  metrics: flagField,
  sched: flagField,
  view: choiceField<View>(VIEWS, "flame"),
  idle: flagField,
  softirq: flagField,
};

export interface ProfileState {
  b: Range | undefined;
  cpu: number | undefined;
  pid: number | undefined;
  tid: number | undefined;
  comm: string;
  mod: string;
  cg: string;
  stack: string;
  idle: boolean;
  softirq: boolean;
}

/** State of the URL that selects all samples. */
export const NO_FILTER: ProfileState = {
  b: undefined,
  cpu: undefined,
  pid: undefined,
  tid: undefined,
  comm: "",
  mod: "",
  cg: "",
  stack: "",
  idle: false,
  softirq: false,
};

export function toFilter(state: ProfileState, range: Range | undefined = state.b): Filter {
  return {
    from_ns: range ? Math.round(range.from) : undefined,
    to_ns: range ? Math.round(range.to) : undefined,
    cpu: state.cpu === undefined ? undefined : [state.cpu],
    pid: state.pid === undefined ? undefined : [state.pid],
    tid: state.tid === undefined ? undefined : [state.tid],
    comm: state.comm ? [state.comm] : undefined,
    hide_idle: state.idle || undefined,
    module: state.mod ? [state.mod] : undefined,
    stack: state.stack || undefined,
    cgroup: state.cg ? [state.cg] : undefined,
    softirq_only: state.softirq || undefined,
  };
}

export function toStackChanges(state: {
  focus: string;
  hide: readonly string[];
  norec: boolean;
  group: boolean;
}): StackChanges {
  return {
    focus: state.focus || undefined,
    hide: state.hide.length > 0 ? [...state.hide] : undefined,
    fold: state.norec || undefined,
    group_unnamed: state.group || undefined,
  };
}

/** Return the filter and the stack transformations as one object. */
export const toSelection = (
  state: Parameters<typeof toFilter>[0] & Parameters<typeof toStackChanges>[0],
) => ({
  ...toFilter(state),
  ...toStackChanges(state),
});

/** Return whether a view needs the tree of all stacks. */
export const isTreeView = (view: View): boolean => !["sandwich", "table", "time"].includes(view);

const NS_PER_US = 1000;

/**
 * Return the selection of the time of a box in the time order view, and of its thread or CPU. The URL has microseconds,
 * so the range begins at the one before the first sample and ends after the last one.
 */
export const toBoxSelection = (
  box: { first_ns?: number; last_ns?: number },
  track: { by: "thread" | "cpu"; tid: number; cpu: number },
) => ({
  b: {
    from: Math.floor((box.first_ns ?? 0) / NS_PER_US) * NS_PER_US,
    to: (Math.floor((box.last_ns ?? 0) / NS_PER_US) + 1) * NS_PER_US,
  },
  ...(track.by === "thread" ? { tid: track.tid } : { cpu: track.cpu }),
});

/** Return the visible part of the tree: zoom, direction, and width in px. */
export const toTreeView = (
  state: { at: readonly string[]; root: number | undefined; view: View },
  width: number,
): TreeView => ({ width, path: state.at, root: state.root, callers: state.view === "callers" });

/** Query parameters of the request of a tree. */
export const toTreeQuery = (selection: Selection, view: TreeView) => ({
  ...selection,
  width: view.width,
  path: view.path.length > 0 ? [...view.path] : undefined,
  root: view.path.length > 0 ? undefined : view.root,
  inverted: view.callers ? true : undefined,
});

/** Return the URL parameters that open the profile with a filter. */
export function toSearch(filter: Filter): Record<string, string | undefined> {
  const { from_ns, to_ns } = filter;
  return {
    b: from_ns != null && to_ns != null ? formatRange({ from: from_ns, to: to_ns }) : undefined,
    cpu: single(filter.cpu),
    pid: single(filter.pid),
    tid: single(filter.tid),
    comm: single(filter.comm),
    idle: filter.hide_idle ? "1" : undefined,
    mod: single(filter.module),
    stack: filter.stack || undefined,
    cg: single(filter.cgroup),
    softirq: filter.softirq_only ? "1" : undefined,
  };
}

/** Return the only value as text; several values do not fit a URL parameter and are dropped. */
const single = (values: readonly (string | number)[] | undefined): string | undefined =>
  values?.length === 1 ? String(values[0]) : undefined;

export const isFiltered = (filter: Filter): boolean =>
  Object.values(filter).some((value) => value !== undefined && value !== null);

/** Path of opened processes, and geometry of the call graph. */

/** Process on the path; without a pid the scope of the capture. */
export interface Hop {
  readonly run: string;
  readonly pid: number | undefined;
}

const MAX_HOPS = 12;

/** Return the last MAX_HOPS processes of the path as text for the URL, oldest first: `run.pid,run`. */
export const formatTrail = (hops: readonly Hop[]): string =>
  hops
    .slice(-MAX_HOPS)
    .map(({ run, pid }) => (pid === undefined ? run : `${run}.${pid}`))
    .join(",");

export const parseTrail = (text: string | undefined): Hop[] =>
  (text ?? "")
    .split(",")
    .flatMap((part): Hop[] => {
      const match = /^([\w-]{1,64})(?:\.(\d{1,7}))?$/.exec(part);
      return match?.[1] ? [{ run: match[1], pid: match[2] ? Number(match[2]) : undefined }] : [];
    })
    .slice(-MAX_HOPS);

/** Split a URL of this application into path and query parameters for the router. */
export function splitUrl(url: string): { path: string; search: Record<string, string> } {
  const at = url.indexOf("?");
  const search = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  return { path: at < 0 ? url : url.slice(0, at), search: Object.fromEntries(search) };
}

interface CallLike {
  readonly key: string;
  readonly waiting: number | null;
  readonly connections: number | null;
}

interface SegmentLike {
  readonly call: string;
  readonly share: number;
}

/** Height of a box and of the gap between two boxes in px. Fixed, so that curves need no DOM measurement. */
export const BOX_HEIGHT = 92;
export const BOX_GAP = 10;
export const MAX_BOXES = 8;
const MIN_CURVE_WIDTH = 1.5;
const MAX_CURVE_WIDTH = 10;

export interface CallCurve {
  readonly key: string;
  /** Share of the response time (0..1); undefined if unknown. */
  readonly share: number | undefined;
  readonly width: number;
  /** y at the left and the right end, in px from the top. */
  readonly from: number;
  readonly to: number;
}

export const columnHeight = (boxes: number): number => Math.max(1, boxes) * (BOX_HEIGHT + BOX_GAP) - BOX_GAP;
const middle = (at: number, boxes: number, height: number): number =>
  (height - columnHeight(boxes)) / 2 + at * (BOX_HEIGHT + BOX_GAP) + BOX_HEIGHT / 2;

/**
 * Return the curves between a column of calls and the process. If the response time was measured, the width is the
 * share of a call in it (thin without observed waits). Otherwise it is the number of waiting or open connections
 * relative to the largest number.
 */
export function buildCallCurves(
  calls: readonly CallLike[],
  segments: readonly SegmentLike[],
  side: "in" | "out",
  height: number,
): CallCurve[] {
  const shares = new Map(segments.map((segment) => [segment.call, segment.share]));
  const weight = (call: CallLike): number => call.waiting ?? call.connections ?? 0;
  const most = Math.max(...calls.map(weight), 1e-9);
  return calls.map((call, at) => {
    const share = side === "out" ? shares.get(call.key) : undefined;
    const known = share ?? (side === "out" && shares.size > 0 ? 0 : weight(call) / most);
    const size = Math.min(1, Math.max(0, known));
    const outer = middle(at, calls.length, height);
    const inner =
      height / 2 + (at - (calls.length - 1) / 2) * Math.min(6, BOX_HEIGHT / 2 / Math.max(1, calls.length));
    return {
      key: call.key,
      share,
      width: MIN_CURVE_WIDTH + size * (MAX_CURVE_WIDTH - MIN_CURVE_WIDTH),
      from: side === "in" ? outer : inner,
      to: side === "in" ? inner : outer,
    };
  });
}

/** Return an SVG path of a curve, 100 wide and horizontal at both ends. */
export const curvePath = ({ from, to }: Pick<CallCurve, "from" | "to">): string =>
  `M0 ${from} C50 ${from} 50 ${to} 100 ${to}`;

interface ProcessLike {
  readonly comm: string;
  readonly pids: readonly number[];
  readonly waiting: number | null;
}

export interface Process {
  readonly pid: number;
  readonly comm: string;
}

/** Return the distinct processes of the calls, those with most waiting connections first. */
export function processesOf(calls: readonly ProcessLike[]): Process[] {
  const processes = new Map<number, Process>();
  for (const process of [...calls].sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0)))
    for (const pid of process.pids) if (!processes.has(pid)) processes.set(pid, { pid, comm: process.comm });
  return [...processes.values()];
}

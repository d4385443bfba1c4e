/** The path of opened processes, and the geometry of the call graph. */

/** A process on the path; without a pid the whole scope of its run. */
export interface Hop {
  readonly run: string;
  readonly pid: number | undefined;
}

const MAX_HOPS = 12;

/** `run.pid,run` in the URL: the processes opened before, first one first. */
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

/** Splits a URL of this application into path and search for the router. */
export function segmentsOf(url: string): { path: string; search: Record<string, string> } {
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

/** Height of a box and of the gap between two boxes, in pixels, so that curves need no measurement. */
export const BOX = 92;
export const GAP = 10;
export const MAX_BOXES = 8;
const THIN = 1.5;
const THICK = 10;

export interface Strand {
  readonly key: string;
  /** 0…1 of the response time; undefined if not known. */
  readonly share: number | undefined;
  readonly width: number;
  /** Start and end on the two sides of the gap, in pixels from the top. */
  readonly from: number;
  readonly to: number;
}

export const heightOf = (boxes: number): number => Math.max(1, boxes) * (BOX + GAP) - GAP;
const middle = (at: number, boxes: number, height: number): number =>
  (height - heightOf(boxes)) / 2 + at * (BOX + GAP) + BOX / 2;

/**
 * The curves between a column of calls and the process. Their width is the share of the response time if it was
 * measured (a call without observed waits is thin), else the number of waiting or open connections relative to the
 * largest one.
 */
export function buildStrands(
  calls: readonly CallLike[],
  segments: readonly SegmentLike[],
  side: "in" | "out",
  height: number,
): Strand[] {
  const shares = new Map(segments.map((segment) => [segment.call, segment.share]));
  const weight = (call: CallLike): number => call.waiting ?? call.connections ?? 0;
  const most = Math.max(...calls.map(weight), 1e-9);
  return calls.map((call, at) => {
    const share = side === "out" ? shares.get(call.key) : undefined;
    const known = share ?? (side === "out" && shares.size > 0 ? 0 : weight(call) / most);
    const size = Math.min(1, Math.max(0, known));
    const outer = middle(at, calls.length, height);
    const inner =
      height / 2 + (at - (calls.length - 1) / 2) * Math.min(6, BOX / 2 / Math.max(1, calls.length));
    return {
      key: call.key,
      share,
      width: THIN + size * (THICK - THIN),
      from: side === "in" ? outer : inner,
      to: side === "in" ? inner : outer,
    };
  });
}

/** A curve over a gap of 100 wide, flat at both ends. */
export const curve = ({ from, to }: Pick<Strand, "from" | "to">): string =>
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

/** The processes of the calls, busiest first. */
export function processesOf(calls: readonly ProcessLike[]): Process[] {
  const processes = new Map<number, Process>();
  for (const process of [...calls].sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0)))
    for (const pid of process.pids) if (!processes.has(pid)) processes.set(pid, { pid, comm: process.comm });
  return [...processes.values()];
}

/** The path that somebody follows from call to call, and how the calls around one process are drawn. */

/** A process on the path; without a pid all that its run looked at. */
export interface Hop {
  readonly run: string;
  readonly pid: number | undefined;
}

const MAX_HOPS = 12;

/** `run.pid,run` in the address: where somebody came from, the first one first. */
export const formatTrail = (hops: readonly Hop[]): string =>
  hops
    .slice(-MAX_HOPS)
    .map(({ run, pid }) => (pid === undefined ? run : `${run}.${pid}`))
    .join(",");

export const parseTrail = (text: string | undefined): Hop[] =>
  (text ?? "")
    .split(",")
    .flatMap((part): Hop[] => {
      const found = /^([\w-]{1,64})(?:\.(\d{1,7}))?$/.exec(part);
      return found?.[1] ? [{ run: found[1], pid: found[2] ? Number(found[2]) : undefined }] : [];
    })
    .slice(-MAX_HOPS);

/** An address of this application taken apart, as the router wants it. */
export function partsOf(url: string): { path: string; search: Record<string, string> } {
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

/** Height of one box and the room between two of them, in pixels: the curves know them without measuring. */
export const BOX = 92;
export const GAP = 10;
export const MOST_DRAWN = 8;
const THIN = 1.5;
const THICK = 10;

export interface Strand {
  readonly key: string;
  /** 0…1 of the response time; undefined where that is not known. */
  readonly share: number | undefined;
  readonly width: number;
  /** From where to where on the two sides of the gap, in pixels from the top. */
  readonly from: number;
  readonly to: number;
}

export const heightOf = (boxes: number): number => Math.max(1, boxes) * (BOX + GAP) - GAP;
const middle = (at: number, boxes: number, height: number): number =>
  (height - heightOf(boxes)) / 2 + at * (BOX + GAP) + BOX / 2;

/**
 * The curves between a column of calls and the process. Their width is the share of the response time, where that
 * was measured (a call that nobody was seen waiting for is thin), else how many connections wait or exist, beside the
 * greatest.
 */
export function strands(
  calls: readonly CallLike[],
  segments: readonly SegmentLike[],
  side: "in" | "out",
  height: number,
): Strand[] {
  const shares = new Map(segments.map((one) => [one.call, one.share]));
  const weight = (one: CallLike): number => one.waiting ?? one.connections ?? 0;
  const most = Math.max(...calls.map(weight), 1e-9);
  return calls.map((one, at) => {
    const share = side === "out" ? shares.get(one.key) : undefined;
    const known = share ?? (side === "out" && shares.size > 0 ? 0 : weight(one) / most);
    const size = Math.min(1, Math.max(0, known));
    const there = middle(at, calls.length, height);
    const here =
      height / 2 + (at - (calls.length - 1) / 2) * Math.min(6, BOX / 2 / Math.max(1, calls.length));
    return {
      key: one.key,
      share,
      width: THIN + size * (THICK - THIN),
      from: side === "in" ? there : here,
      to: side === "in" ? here : there,
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

/** The processes that calls belong to, the busiest first. */
export function processesOf(calls: readonly ProcessLike[]): Process[] {
  const found = new Map<number, Process>();
  for (const one of [...calls].sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0)))
    for (const pid of one.pids) if (!found.has(pid)) found.set(pid, { pid, comm: one.comm });
  return [...found.values()];
}

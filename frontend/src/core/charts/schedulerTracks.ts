/** Scheduler tracks: rows by CPU or by thread, arrows of wake-ups, and lookup of segments. */

/** [offset, length, index, number of merged segments]; times in ns since the start of the range. */
export type Segment = readonly number[];

export interface SchedulerTask {
  readonly task: string;
  readonly pid: number;
  readonly tid: number;
}

export interface Wakeup {
  readonly offset_ns: number;
  readonly delay_ns: number;
  readonly task: number;
  readonly waker: number | null;
  readonly from_cpu: number;
  readonly to_cpu: number;
  readonly context: "unknown" | "thread" | "soft_interrupt" | "hard_interrupt";
}

export interface SchedulerTracksData {
  readonly t0_ns: number;
  readonly cpus: readonly { readonly cpu: number; readonly segments: readonly Segment[] }[];
  readonly threads: readonly {
    readonly task: number;
    readonly segments: readonly Segment[];
    readonly waits: readonly Segment[];
  }[];
  readonly tasks: readonly SchedulerTask[];
  readonly wakeups: readonly Wakeup[];
}

/** Row: a CPU, the index of its segments is a task; or a thread, the index of its segments is a CPU. */
export interface SchedulerRow {
  readonly key: string;
  readonly label: string;
  readonly cpu: number | undefined;
  readonly task: number | undefined;
  readonly segments: readonly Segment[];
  readonly waits: readonly Segment[];
}

export function listSchedulerRows(data: SchedulerTracksData): SchedulerRow[] {
  const cpus = data.cpus.map(({ cpu, segments }) => ({
    key: `cpu ${cpu}`,
    label: `CPU ${cpu}`,
    cpu,
    task: undefined,
    segments,
    waits: [],
  }));
  const threads = data.threads.map(({ task, segments, waits }) => ({
    key: `thread ${data.tasks[task]?.tid}`,
    label: `${data.tasks[task]?.task} ${data.tasks[task]?.tid}`,
    cpu: undefined,
    task,
    segments,
    waits,
  }));
  return [...cpus, ...threads];
}

/** Return at most `most` wake-ups, those with the longest wait for a CPU. */
export const longestWakeups = (wakeups: readonly Wakeup[], most: number): readonly Wakeup[] =>
  wakeups.length <= most ? wakeups : [...wakeups].sort((a, b) => b.delay_ns - a.delay_ns).slice(0, most);

/** Arrow of a wake-up, in ns and row indexes; `fromRow` is undefined if the waker has no row. */
export interface WakeupArrow {
  readonly wakeup: Wakeup;
  readonly fromNs: number;
  readonly fromRow: number | undefined;
  readonly toNs: number;
  readonly toRow: number;
}

/**
 * Return the arrows between rows. Between CPUs an arrow ends when the woken thread runs. Between threads it ends at the
 * wake-up, because the wait follows it in the row. Wake-ups of threads or CPUs without a row are omitted.
 */
export function listWakeupArrows(rows: readonly SchedulerRow[], wakeups: readonly Wakeup[]): WakeupArrow[] {
  const rowOfCpu = new Map(
    rows.flatMap((row, at) => (row.cpu === undefined ? [] : [[row.cpu, at] as const])),
  );
  const rowOfTask = new Map(
    rows.flatMap((row, at) => (row.task === undefined ? [] : [[row.task, at] as const])),
  );
  const byThread = rowOfTask.size > 0;
  return wakeups.flatMap((wakeup) => {
    const toRow = byThread ? rowOfTask.get(wakeup.task) : rowOfCpu.get(wakeup.to_cpu);
    if (toRow === undefined) return [];
    const waker = wakeup.context === "hard_interrupt" ? null : wakeup.waker;
    const fromRow = byThread
      ? waker === null
        ? undefined
        : rowOfTask.get(waker)
      : rowOfCpu.get(wakeup.from_cpu);
    const toNs = wakeup.offset_ns + (byThread ? 0 : wakeup.delay_ns);
    return [{ wakeup, fromNs: wakeup.offset_ns, fromRow, toNs, toRow }];
  });
}

/** Return the segment at a time. Segments are in order; `slackNs` extends them, so that narrow segments can be hit. */
export function findSegmentAt(segments: readonly Segment[], at: number, slackNs = 0): Segment | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle]?.[0] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const before = segments[low - 1];
  if (before && at < (before[0] ?? 0) + (before[1] ?? 0) + slackNs) return before;
  const next = segments[low];
  return next && (next[0] ?? 0) - at < slackNs ? next : undefined;
}

/** Return the wake-up that led to the time slice at `offset`, or undefined. Call it only for unmerged slices. */
export function findWakeup(wakeups: readonly Wakeup[], task: number, offset: number): Wakeup | undefined {
  return wakeups.find((item) => item.task === task && Math.abs(item.offset_ns + item.delay_ns - offset) < 1);
}

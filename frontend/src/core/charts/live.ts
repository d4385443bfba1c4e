/** Bars of a capture that runs: where each collector is on the axis of seconds since the capture began. */
export interface LiveCollector {
  readonly id: string;
  readonly state: string;
  readonly seconds: number | null;
  readonly progress: { readonly elapsed_ms: number; readonly planned_ms: number } | null;
  readonly started_ns?: number | null | undefined;
}

export interface LiveRun {
  readonly id: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly seconds: number | null;
  readonly collectors: readonly LiveCollector[];
}

export interface ProgressBar {
  readonly id: string;
  readonly state: string;
  /** Seconds since the capture began. */
  readonly from: number;
  readonly to: number;
  /** Where it will end if all goes well; only while it runs. */
  readonly planned: number | undefined;
}

/** Seconds from the beginning of the capture to the start of the run; undefined while it is queued. */
export function offsetOf(run: LiveRun, created: number): number | undefined {
  return run.started_at ? Math.max(0, (Date.parse(run.started_at) - created) / 1000) : undefined;
}

/**
 * How long a run has been going, by the server's own figures, plus the time since they were received: the
 * browser's clock may be wrong, its stopwatch is not.
 */
export function elapsedOf(run: LiveRun, sinceReceipt_s: number): number {
  if (run.started_at && run.ended_at)
    return Math.max(0, (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1000);
  const began = run.started_at ? Date.parse(run.started_at) : undefined;
  const waited = (c: LiveCollector) =>
    c.started_ns && began !== undefined ? Math.max(0, c.started_ns / 1e6 - began) / 1000 : 0;
  const lastReported = Math.max(
    run.seconds ?? 0,
    ...run.collectors.map((c) => waited(c) + Math.max(c.seconds ?? 0, (c.progress?.elapsed_ms ?? 0) / 1000)),
  );
  return lastReported + sinceReceipt_s;
}

/** Bars for one run. `seen` keeps where a bar began, for collectors that do not report it once they are done. */
export function barsOf(
  run: LiveRun,
  created: number,
  sinceReceipt_s: number,
  seen: Map<string, number>,
): ProgressBar[] {
  const offset = offsetOf(run, created);
  if (offset === undefined) return [];
  const now = offset + elapsedOf(run, sinceReceipt_s);
  const out: ProgressBar[] = [];
  for (const c of run.collectors) {
    const key = `${run.id}/${c.id}`;
    if (c.state === "queued" || c.state === "skipped") continue;
    const reportedStart = c.started_ns ? Math.max(0, c.started_ns / 1e9 - created / 1000) : undefined;
    if (c.state === "running") {
      const elapsed = (c.progress?.elapsed_ms ?? 0) / 1000 + sinceReceipt_s;
      const from = reportedStart ?? Math.max(offset, now - elapsed);
      if (reportedStart !== undefined || !seen.has(key)) seen.set(key, from);
      const start = seen.get(key) as number;
      const planned = c.progress ? start + c.progress.planned_ms / 1000 : undefined;
      out.push({
        id: c.id,
        state: c.state,
        from: start,
        to: Math.min(
          reportedStart === undefined ? now : start + elapsed,
          planned ?? Number.POSITIVE_INFINITY,
        ),
        planned,
      });
    } else {
      const from = reportedStart ?? seen.get(key) ?? offset;
      out.push({ id: c.id, state: c.state, from, to: from + (c.seconds ?? 0), planned: undefined });
    }
  }
  return out;
}

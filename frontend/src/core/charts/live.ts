/** Progress bars of the collectors of a capture, on an axis of seconds since the capture was created. */
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
  /** Seconds since the capture was created. */
  readonly from: number;
  readonly to: number;
  /** Planned end in seconds; only while the collector runs. */
  readonly planned: number | undefined;
}

/** Return the seconds from the creation of the capture (`created`, in ms) to the run start; undefined while queued. */
export function computeStartOffset(run: LiveRun, created: number): number | undefined {
  return run.started_at ? Math.max(0, (Date.parse(run.started_at) - created) / 1000) : undefined;
}

/**
 * Return the elapsed seconds of a run: the last value reported by the server plus the time since its receipt. It does
 * not use the wall clock of the browser, which can be wrong.
 */
export function computeElapsed(run: LiveRun, sinceReceipt_s: number): number {
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

/**
 * Return the bars of a run. `seen` caches the start of each bar between calls, for finished collectors without a
 * reported start.
 */
export function buildProgressBars(
  run: LiveRun,
  created: number,
  sinceReceipt_s: number,
  seen: Map<string, number>,
): ProgressBar[] {
  const offset = computeStartOffset(run, created);
  if (offset === undefined) return [];
  const now = offset + computeElapsed(run, sinceReceipt_s);
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

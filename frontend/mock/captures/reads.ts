import type { Capture, Run } from "../../src/client/models.ts";
import type { SeriesSummary } from "../../src/features/runs/api.ts";
import type { HostEvent } from "../../src/widgets/timeline/api.ts";
import { listHostEvents } from "../dataset.ts";
import { hashToUnit, makeId } from "../server/pseudoRandom.ts";
import { listLabelSets, METRICS } from "./catalog.ts";
import { listProfiles } from "./profile.ts";

export { createCitation, createOverview, createTimeline } from "./timeline.ts";

const COLLECTOR_DETAILS = {
  argv: null,
  cpu_ms: null,
  exit_code: null,
  parser_version: null,
  signal: null,
  stderr_tail: null,
  tool_version: null,
  warnings: [],
  method: null,
};

export function findRun(runId: string, captures: Capture[]): Run | undefined {
  for (const capture of captures) {
    const run = capture.runs.find((r) => r.id === runId);
    if (!run) continue;
    const from = Date.parse(run.started_at ?? capture.created_at) * 1e6;
    return {
      ...run,
      capture: {
        id: capture.id,
        number: capture.number,
        plan: capture.plan,
        reason: capture.reason,
        source: capture.source,
      },
      collectors: run.collectors.map((collector) => ({ ...COLLECTOR_DETAILS, ...collector })),
      t0_ns: from,
      t1_ns: from + (run.seconds ?? 0) * 1e9,
      boot_id: null,
      facts: null,
      removals: [],
      timings: { connect_ms: 12, login_ms: 180, fork_ms: 1.2, rtt_ms: 0.8, first_frame_ms: 220 },
      clock: {
        offset_ms: -3.2,
        uncertainty_ms: 0.8,
        source: "uptime",
        steps: [],
        records: [],
        perf_reference: {},
      },
      spec: { plan: capture.plan, seconds: capture.seconds },
      artifacts: run.collectors
        .filter((c) => (c.bytes ?? 0) > 0)
        .flatMap((c) =>
          (c.id === "perf_record" ? ["perf.data", "script"] : ["stdout"]).map((part) => ({
            id: makeId("artifact", runId, c.id, part),
            collector: c.id,
            part,
            sha256:
              `${hashToUnit(runId, c.id, part).toString(16).slice(2)}${hashToUnit(part, runId).toString(16).slice(2)}`.padEnd(
                64,
                "a9f1",
              ),
            size: c.bytes ?? 0,
            stored_size: c.bytes ?? 0,
            encoding: "zstd",
            complete: true,
            attempt: 1,
            media_type: part === "perf.data" ? "application/octet-stream" : "text/plain",
          })),
        ),
      profiles:
        capture.plan === "cpu" && run.host
          ? listProfiles(run.host.id)
              .slice(0, 1)
              .map((p) => ({ ...p, run_id: runId, t0_ns: from }))
          : [],
      tables: [
        {
          kind: "proc_top",
          columns: [
            { id: "pid", unit: "" },
            { id: "comm", unit: "" },
            { id: "cpu", unit: "pct" },
            { id: "rss", unit: "bytes" },
          ],
          rows: Array.from({ length: 24 }, (_, i) => [
            4000 + i * 7,
            ["feed-worker", "java", "nginx", "kswapd0"][i % 4] ?? "",
            Math.round(9000 / (i + 1)) / 10,
            Math.round(8e9 / (i + 1)),
          ]),
          artifact_id: makeId("artifact", runId, "proc_top", "stdout"),
          collector: "proc_top",
          lines: Array.from({ length: 24 }, (_, i) => i + 2),
        },
        {
          kind: "sockets",
          columns: [
            { id: "local", unit: "" },
            { id: "recv_queue", unit: "bytes" },
          ],
          rows: Array.from({ length: 260 }, (_, i) => [`10.40.0.4:${40_000 + i}`, i]),
          artifact_id: makeId("artifact", runId, "ss", "stdout"),
          collector: "ss",
          lines: Array.from({ length: 260 }, (_, i) => i + 2),
        },
      ],
      warnings:
        run.state === "partial"
          ? [{ collector: "perf_record", warning: { key: "run.clock_stepped", params: { ms: 42 } } }]
          : [],
    };
  }
  return undefined;
}

export const listSeries = (): SeriesSummary[] =>
  METRICS.flatMap((m) =>
    listLabelSets(m).map((labels) => {
      const mean = 60 * hashToUnit(m.id, JSON.stringify(labels));
      return {
        metric: m.id,
        labels,
        axis: m.axis,
        axis_values: null,
        t0_ns: 0,
        t1_ns: 0,
        unit: m.unit,
        sample_count: 60,
        min: mean * 0.4,
        mean,
        max: mean * 2.2,
      };
    }),
  );

export function listRunEvents(runId: string, captures: Capture[]): HostEvent[] {
  const host = captures.flatMap((c) => c.runs).find((r) => r.id === runId)?.host;
  return host ? listHostEvents(host.id).filter((e) => e.run_id === runId) : [];
}

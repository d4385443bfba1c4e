import type { Timeline, TimelineOverview, Track } from "../../src/widgets/timeline/api.ts";
import { HOSTS, listCaptureBlocks, listHostEvents, NS_PER_S, TAKEN_CAPTURES } from "../dataset.ts";
import { hashToUnit, makeId } from "../server/pseudoRandom.ts";
import { listLabelSets, METRICS } from "./catalog.ts";
import { listReportedEvents } from "./events.ts";

/** Return a reading. It is higher during the incident of the last hour. */
function computeReading(metric: string, labels: Record<string, string>, k: number, t: number): number {
  const seed = `${metric}${Object.values(labels).join()}`;
  const wave = 0.5 + 0.5 * Math.sin(t / 37 + k * 0.7 + hashToUnit(seed) * 6);
  const noise = hashToUnit(seed, k, Math.floor(t));
  const incident =
    t > TAKEN_CAPTURES[TAKEN_CAPTURES.length - 4]!.from &&
    t < TAKEN_CAPTURES[TAKEN_CAPTURES.length - 1]!.from + 40;
  const heat = incident ? 1 : 0.35;
  switch (metric) {
    case "cpu.busy_pct":
    case "cpu.usr_pct":
      return Math.min(100, heat * (k % 16 < 4 ? 95 : 50) * (0.6 + 0.4 * noise) + wave * 15);
    case "softirq.rate_per_s":
      if (labels.vector === "NET_RX") return (k % 32 < 2 ? 9000 : 120) * heat * noise;
      return labels.vector === "HI" || labels.vector === "IRQ_POLL" ? 0 : 300 * noise * wave;
    case "cpu.total_busy_pct":
      return 80 * heat + 12 * noise;
    case "cpu.total_steal_pct":
      return 0;
    case "cpu.total_iowait_pct":
      return noise < 0.6 ? 0 : 5 * noise;
    case "sched.runq":
      return Math.round((incident ? 280 : 12) * (0.7 + noise * 0.6));
    case "sched.blocked":
      return noise > 0.85 ? Math.round(noise * 6) : 0;
    case "sched.switches_per_s":
      return 180000 * heat * (0.8 + noise * 0.4);
    case "load.avg1":
      return 220 * heat + wave * 10;
    case "mem.available_kb":
      return (incident ? 12 : 140) * 2 ** 20 * (0.95 + 0.05 * wave);
    case "disk.r_await_ms":
    case "disk.w_await_ms":
      return (labels.dev === "sda" ? 14 : 0.3) * (1 + 4 * (noise > 0.93 ? 1 : 0)) * (0.5 + noise);
    case "disk.util_pct":
      return (labels.dev === "sda" ? 70 : 9) * (0.5 + noise * 0.5);
    case "net.rx_mb_s":
    case "net.tx_mb_s":
      return (labels.dev === "eth0" ? 420 : 0.3) * (0.4 + noise * 0.3 + wave * 0.3);
    case "app.requests_per_s":
      return (labels.route === "/feed" ? 820 : 140) * (0.9 + 0.2 * noise);
    case "app.p99_ms":
      return (labels.route === "/feed" ? 190 : 24) * heat * (0.8 + 0.4 * noise);
    default:
      return noise < 0.4 ? 0 : 40 * heat * noise * wave;
  }
}

/** Return the typical ranges: complete for most runs, too few days for one, and failed for one. */
function typicalOf(hostId: string, metric: string, labels: Record<string, string>): Track["typical"] {
  if (!metric.startsWith("app.")) return [];
  const calm = metric === "app.p99_ms" ? 0.35 : 1;
  return listCaptureBlocks(hostId).map((block, i) => {
    const away = i % 5 === 2;
    const days = i % 5 === 3 ? 2 : 7 - (i % 2);
    const [from, to] = [block.from_ns - 15 * NS_PER_S, block.to_ns + 15 * NS_PER_S];
    const t_ns = away ? [] : Array.from({ length: 13 }, (_, k) => from + ((to - from) * k) / 12);
    const size = (metric === "app.p99_ms" ? 1 : 4.3) * (labels.route === "/feed" ? 190 : 24) * calm;
    const band = (share: number) =>
      t_ns.map((_, k) => (days < 3 ? null : size * share * (1 + 0.05 * Math.sin(k / 3))));
    return {
      run_id: block.run_id,
      artifact_id: away ? null : makeId("artifact", hostId, block.number, "prom_typical"),
      from_ns: away ? block.from_ns : from,
      to_ns: away ? block.to_ns : to,
      t_ns,
      low: band(0.75),
      median: band(0.95),
      high: band(1.3),
      days: t_ns.map(() => days),
      failure: away
        ? { key: "outgoing.unreachable", params: { host: "prometheus.example.net", port: 9090 } }
        : null,
    };
  });
}

interface Cell {
  t: number;
  runIndex: number;
}

/** Sample times inside the range, thinned to at most `width` and `per` seconds apart. */
function listSampleTimes(
  from: number,
  to: number,
  width: number,
): { cells: Cell[]; gaps: [number, number][]; step: number } {
  const inside = TAKEN_CAPTURES.map((c, i) => ({ ...c, i })).filter(
    (c) => c.from + c.seconds >= from && c.from <= to,
  );
  const step = Math.max(1, (to - from) / width);
  const cells: Cell[] = [];
  const gaps: [number, number][] = [];
  let edge = from;
  for (const c of inside) {
    if (c.from > edge) gaps.push([edge * NS_PER_S, c.from * NS_PER_S]);
    for (
      let t = Math.max(c.from, c.from + Math.ceil((from - c.from) / step) * step);
      t <= Math.min(to, c.from + c.seconds);
      t += step
    )
      cells.push({ t, runIndex: c.i });
    edge = Math.max(edge, c.from + c.seconds);
  }
  if (edge < to) gaps.push([edge * NS_PER_S, to * NS_PER_S]);
  return { cells, gaps, step };
}

export function createTimeline(
  hostId: string,
  fromNs: number,
  toNs: number,
  width: number,
  metrics: string[],
): Timeline {
  const host = HOSTS.find((h) => h.id === hostId) ?? HOSTS[1]!;
  const cpus = host.facts?.cpus ?? 16;
  const { cells, gaps, step } = listSampleTimes(fromNs / NS_PER_S, toNs / NS_PER_S, width);
  const tracks: Track[] = [];
  for (const m of METRICS) {
    if (metrics.length > 0 && !metrics.includes(m.id)) continue;
    for (const labels of listLabelSets(m)) {
      const axisValues =
        m.axis === "cpu" ? Array.from({ length: cpus }, (_, i) => String(i)) : m.axis ? ["0", "1"] : null;
      const track: Track = {
        metric: m.id,
        labels,
        unit: m.unit,
        axis: m.axis,
        axis_values: axisValues,
        level: step > 1 ? 2 : 0,
        kind: m.track.kind,
        gaps,
        chunks: [],
        typical: typicalOf(hostId, m.id, labels),
      };
      if (axisValues) {
        const matrix: NonNullable<Track["matrix"]> = {
          t_ns: cells.map((c) => c.t * NS_PER_S),
          values: cells.map((c) =>
            axisValues.map((_, k) => Math.round(computeReading(m.id, labels, k, c.t) * 10) / 10),
          ),
        };
        tracks.push({ ...track, matrix, points: null });
      } else {
        const points: NonNullable<Track["points"]> = { t_ns: [], min: [], mean: [], max: [] };
        for (const c of cells) {
          const v = computeReading(m.id, labels, 0, c.t);
          const spread = step > 1 ? 0.15 * v : 0;
          points.t_ns.push(c.t * NS_PER_S);
          points.min.push(v - spread);
          points.mean.push(v);
          points.max.push(v + spread);
        }
        tracks.push({ ...track, points, matrix: null });
      }
    }
  }
  const inRange = (a: number, b: number): boolean => b >= fromNs && a <= toNs;
  const first = TAKEN_CAPTURES[0]!;
  const last = TAKEN_CAPTURES[TAKEN_CAPTURES.length - 1]!;
  return {
    from_ns: fromNs,
    to_ns: toNs,
    tracks,
    track_count: tracks.length,
    captures_total: listCaptureBlocks(hostId).length,
    events_total: listHostEvents(hostId).length,
    captures: listCaptureBlocks(hostId).filter((b) => inRange(b.from_ns, b.to_ns)),
    events: [...listHostEvents(hostId), ...listReportedEvents(hostId)].filter((e) =>
      inRange(e.t_ns, e.end_ns ?? e.t_ns),
    ),
    range: { first_ns: first.from * NS_PER_S, last_ns: (last.from + last.seconds) * NS_PER_S },
  };
}

export function createOverview(hostId: string): TimelineOverview {
  const first = TAKEN_CAPTURES[0]!;
  const last = TAKEN_CAPTURES[TAKEN_CAPTURES.length - 1]!;
  return {
    first_ns: first.from * NS_PER_S,
    last_ns: (last.from + last.seconds) * NS_PER_S,
    runs: listCaptureBlocks(hostId),
    runs_total: listCaptureBlocks(hostId).length,
    tracks: METRICS.flatMap((m) =>
      listLabelSets(m).map((labels) => ({
        metric: m.id,
        labels,
        axis: m.axis,
        unit: m.unit,
        group: m.track.group,
        kind: m.track.kind,
        first_ns: first.from * NS_PER_S,
        last_ns: (last.from + last.seconds) * NS_PER_S,
      })),
    ),
  };
}

export const createCitation = (hostId: string, metric: string, tNs: number) => ({
  artifact_id: makeId("artifact", hostId, 474, metric.split(".")[0] ?? "x"),
  part: "samples",
  line: 100 + Math.floor(hashToUnit(metric, tNs) * 400),
  text: "cpu3 194012 331 42211 882110 12 0 4411 0 0 0",
  run_id: makeId("run", hostId, 474),
});

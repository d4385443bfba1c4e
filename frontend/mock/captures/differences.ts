/** Differences between two selections of mock timelines. */

import type { Differences, SeriesDifference } from "../../src/widgets/timeline/changes/useDifferences.ts";
import { HOSTS, listHostEvents } from "../dataset.ts";
import { findFactChanges } from "../hosts/factChanges.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";
import { createTimeline } from "./timeline.ts";

const HOUR_NS = 3_600e9;

interface Side {
  id: string;
  name: string;
  from: number;
  to: number;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

function summarize(values: readonly number[]): SeriesDifference["before"] {
  const size = Math.ceil(values.length / 60);
  const points = Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    mean(values.slice(at * size, (at + 1) * size)),
  );
  return { n: values.length, mean: mean(values), min: Math.min(...values), max: Math.max(...values), points };
}

/** The values of each series of a side, by metric, labels and column. */
function valuesOf(side: Side) {
  const out = new Map<string, { item: Omit<SeriesDifference, "before" | "after">; values: number[] }>();
  for (const track of createTimeline(side.id, side.from, side.to, 400, []).tracks) {
    const columns = track.axis_values ?? [null];
    columns.forEach((column, at) => {
      const values = (
        track.matrix ? track.matrix.values.map((row) => row[at] ?? null) : (track.points?.mean ?? [])
      ).filter((value): value is number => value !== null);
      if (values.length === 0) return;
      const { metric, labels, unit, axis } = track;
      const item = { metric, labels, unit, axis, column, columns: columns.length, columns_changed: 1 };
      out.set(`${metric} ${JSON.stringify(labels)} ${column}`, {
        item: { ...item, steps: null, ratio: null },
        values,
      });
    });
  }
  return out;
}

function compare(before: Side, after: Side): Differences {
  const [first, second] = [valuesOf(before), valuesOf(after)];
  const best = new Map<string, SeriesDifference>();
  for (const [key, { item, values }] of second) {
    const other = first.get(key)?.values;
    if (!other) continue;
    const [a, b] = [summarize(other), summarize(values)];
    const spread = Math.max((a.max - a.min) / 3.3, 0.02 * Math.abs(a.mean), 1e-3);
    const steps = Math.max(-100, Math.min((b.mean - a.mean) / spread, 100));
    const ratio = a.mean > 0.5 ? b.mean / a.mean : null;
    const name = `${item.metric} ${JSON.stringify(item.labels)}`;
    if (Math.abs(best.get(name)?.steps ?? 0) <= Math.abs(steps))
      best.set(name, { ...item, before: a, after: b, steps, ratio });
  }
  const all = [...best.values()].sort((a, b) => Math.abs(b.steps ?? 0) - Math.abs(a.steps ?? 0));
  const changed = all.filter((item) => Math.abs(item.steps ?? 0) >= 1);
  const facts = before.id === after.id ? (findFactChanges(after.id)?.changes ?? []) : [];
  const within = (side: Side) =>
    listHostEvents(side.id).filter((event) => event.t_ns >= side.from && event.t_ns < side.to);
  const events = within(after).map((event) => ({
    kind: event.kind,
    severity: event.severity,
    title: event.title,
    last_ns: event.t_ns,
    before: 0,
    after: 1,
    before_per_hour: 0,
    after_per_hour: HOUR_NS / (after.to - after.from),
  }));
  const side = ({ id, name, from, to }: Side, series: number) => ({
    host: { id, name },
    from_ns: from,
    to_ns: to,
    series,
  });
  return {
    before: side(before, first.size),
    after: side(after, second.size),
    series: changed,
    series_changed: changed.length,
    series_equal: all.length - changed.length,
    metrics_before_only: [],
    metrics_after_only: ["proc.cpu_pct"],
    appeared: [],
    appeared_total: 0,
    vanished: [],
    vanished_total: 0,
    events,
    events_total: events.length,
    facts,
    facts_total: facts.length,
    settings:
      before.id === after.id
        ? []
        : [{ source: "host_facts", name: "sysctl.vm.swappiness", before: "60", after: "10" }],
    settings_total: before.id === after.id ? 0 : 1,
  };
}

addRoute("GET", "/differences", ({ query }) => {
  const side = (name: string): Side | undefined => {
    const host = HOSTS.find(({ id }) => id === query.get(`${name}_host`));
    const at = (end: string) => Number(query.get(`${name}_${end}_ns`));
    return host && { id: host.id, name: host.name, from: at("from"), to: at("to") };
  };
  const [before, after] = [side("before"), side("after")];
  if (!before || !after) return respondProblem(404, "host.not_found", "Host not found.");
  return respond(compare(before, after));
});

import type { Capture, Host, RunState, RunSummary } from "../src/client/types.ts";
import { COLLECTORS, PLANS } from "./catalogue.ts";
import { id } from "./noise.ts";
import { CAPTURES, endedRun, HOSTS } from "./world.ts";

/** A capture that goes on while it is watched: its state follows from the time since it began. */
interface LiveCapture {
  capture: Capture;
  began: number;
  hosts: Host[];
  seconds: number;
  cancelled?: number;
}

const live = new Map<string, LiveCapture>();
let counter = 480;

export function begin(hosts: Host[], plan: string, seconds: number, reason: string, ago_s = 0): Capture {
  counter += 1;
  const capture: Capture = {
    id: id("capture", counter),
    number: counter,
    plan,
    seconds,
    state: "running",
    reason,
    source: "manual",
    requested_by: { id: id("user", 0), name: "admin" },
    created_at: new Date(Date.now() - ago_s * 1000).toISOString(),
    ended_at: null,
    runs: [],
  };
  live.set(capture.id, { capture, began: Date.now() - ago_s * 1000, hosts, seconds });
  return read(capture.id) as Capture;
}

export function cancel(captureId: string): Capture | undefined {
  const found = live.get(captureId);
  if (found) found.cancelled ??= Date.now();
  return read(captureId);
}

export function read(captureId: string): Capture | undefined {
  const found = live.get(captureId);
  if (!found) return CAPTURES.find((c) => c.id === captureId);
  const runs = found.hosts.map((host, i) => runAt(found, host, i));
  const active = runs.some((r) => r.state === "queued" || r.state === "running" || r.state === "ingesting");
  const state: RunState = active
    ? "running"
    : found.cancelled
      ? "cancelled"
      : runs.every((r) => r.state === "done")
        ? "done"
        : "partial";
  return { ...found.capture, state, ended_at: active ? null : new Date().toISOString(), runs };
}

export const allCaptures = (): Capture[] => [
  ...[...live.keys()].reverse().map((key) => read(key) as Capture),
  ...CAPTURES,
];

function runAt(found: LiveCapture, host: Host, i: number): RunSummary {
  const runId = id("run", host.id, found.capture.number);
  const until = found.cancelled ?? Date.now();
  const elapsed = (until - found.began) / 1000 - 1 - i * 0.7;
  const seconds = found.seconds;
  const whole = endedRun(
    runId,
    host,
    found.capture.plan,
    seconds,
    found.began / 1000 + 1 + i * 0.7,
    i % 7 === 4 ? "failed" : i % 5 === 2 ? "partial" : "done",
  );
  if (found.cancelled && elapsed < seconds + 3) {
    return {
      ...whole,
      state: "cancelled",
      collectors: whole.collectors.map((c) => ({
        ...c,
        state: "cancelled" as const,
        bytes: 0,
        reason: null,
      })),
    };
  }
  if (elapsed > seconds + 3 || (whole.state === "failed" && elapsed > 6)) return whole;
  if (elapsed < 0) {
    return {
      ...whole,
      state: "queued",
      started_at: null,
      ended_at: null,
      seconds: null,
      bytes: null,
      host_cpu_ms: null,
      failure: null,
      collectors: whole.collectors.map((c) => ({
        id: c.id,
        state: "queued" as const,
        reason: null,
        bytes: null,
        seconds: null,
        progress: null,
      })),
    };
  }
  const plan = PLANS.find((p) => p.id === found.capture.plan) ?? PLANS[0]!;
  return {
    ...whole,
    state: elapsed > seconds ? "ingesting" : "running",
    ended_at: null,
    seconds: elapsed,
    failure: null,
    bytes: Math.floor(whole.bytes! * Math.min(1, elapsed / seconds)),
    host_cpu_ms: Math.floor(500 * (elapsed / seconds)),
    collectors: whole.collectors.map((c) => {
      if (c.state === "skipped" || (c.state === "failed" && elapsed > 1)) return c;
      const planned = Math.min(plan.collectors.find((p) => p.id === c.id)?.seconds ?? seconds, seconds);
      const waits = COLLECTORS.find((x) => x.id === c.id)?.exclusive ? Math.max(0, seconds - planned) : 0;
      const own = elapsed - waits;
      if (own < 0)
        return {
          id: c.id,
          state: "queued" as const,
          reason: null,
          bytes: null,
          seconds: null,
          progress: null,
        };
      if (own > planned) return c;
      return {
        id: c.id,
        state: "running" as const,
        reason: null,
        bytes: Math.floor((c.bytes ?? 0) * (own / planned)),
        seconds: own,
        started_ns: Math.round((Date.now() - own * 1000) * 1e6),
        progress: { elapsed_ms: own * 1000, planned_ms: planned * 1000 },
      };
    }),
  };
}

begin(HOSTS.slice(1, 9), "cpu", 600, "p99 of feed is 2.3 s since 02:14", 210);

import type { Capture, Host, RunState, RunSummary } from "../../src/client/models.ts";
import { CAPTURES, createEndedRun, HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { COLLECTORS, PLANS } from "./catalog.ts";

/** Capture in progress: its state follows from the time since its start. */
interface LiveCapture {
  capture: Capture;
  began: number;
  hosts: Host[];
  seconds: number;
  canceled?: number;
}

const live = new Map<string, LiveCapture>();
let counter = 480;

export function startCapture(
  hosts: Host[],
  plan: string,
  seconds: number,
  reason: string,
  ago_s = 0,
): Capture {
  counter += 1;
  const capture: Capture = {
    id: makeId("capture", counter),
    number: counter,
    plan,
    tier: "light",
    scope: { kind: "host", value: "" },
    options: {},
    seconds,
    state: "running",
    reason,
    source: "manual",
    requested_by: { id: makeId("user", 0), name: "admin" },
    created_at: new Date(Date.now() - ago_s * 1000).toISOString(),
    ended_at: null,
    runs: [],
  };
  live.set(capture.id, { capture, began: Date.now() - ago_s * 1000, hosts, seconds });
  return findCapture(capture.id) as Capture;
}

export function cancelCapture(captureId: string): Capture | undefined {
  const capture = live.get(captureId);
  if (capture) capture.canceled ??= Date.now();
  return findCapture(captureId);
}

export function findCapture(captureId: string): Capture | undefined {
  const capture = live.get(captureId);
  if (!capture) return CAPTURES.find((c) => c.id === captureId);
  const runs = capture.hosts.map((host, i) => createRunSummary(capture, host, i));
  const active = runs.some((r) => r.state === "queued" || r.state === "running" || r.state === "ingesting");
  const state: RunState = active
    ? "running"
    : capture.canceled
      ? "canceled"
      : runs.every((r) => r.state === "done")
        ? "done"
        : "partial";
  return { ...capture.capture, state, ended_at: active ? null : new Date().toISOString(), runs };
}

export const listCaptures = (): Capture[] => [
  ...[...live.keys()].reverse().map((key) => findCapture(key) as Capture),
  ...CAPTURES,
];

function createRunSummary(capture: LiveCapture, host: Host, i: number): RunSummary {
  const runId = makeId("run", host.id, capture.capture.number);
  const until = capture.canceled ?? Date.now();
  const elapsed = (until - capture.began) / 1000 - 1 - i * 0.7;
  const seconds = capture.seconds;
  const whole = createEndedRun(
    runId,
    host,
    capture.capture.plan,
    seconds,
    capture.began / 1000 + 1 + i * 0.7,
    i % 7 === 4 ? "failed" : i % 5 === 2 ? "partial" : "done",
  );
  if (capture.canceled && elapsed < seconds + 3) {
    return {
      ...whole,
      state: "canceled",
      collectors: whole.collectors.map((c) => ({
        ...c,
        state: "canceled" as const,
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
      bytes: 0,
      host_cpu_ms: null,
      failure: null,
      collectors: whole.collectors.map((c) => ({
        id: c.id,
        state: "queued" as const,
        reason: null,
        bytes: 0,
        seconds: null,
        progress: null,
        started_ns: null,
      })),
    };
  }
  const plan = PLANS.find((p) => p.id === capture.capture.plan) ?? PLANS[0]!;
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
          bytes: 0,
          seconds: null,
          started_ns: null,
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

startCapture(HOSTS.slice(1, 9), "cpu", 600, "p99 of feed is 2.3 s since 02:14", 210);

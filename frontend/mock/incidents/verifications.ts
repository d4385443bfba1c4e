/** Verifications: four sides of three captures each. */

import type { FlameNode } from "../../src/core/profiles/flame.ts";
import type {
  Verification,
  VerificationResult,
  VerificationWindow,
} from "../../src/features/incidents/api.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond } from "../server/routes.ts";
import { LENA, toTime, UNHEALTHY, WELL } from "./incidentParts.ts";

export const createWindow = (
  side: VerificationWindow["side"],
  n: number,
  mean: number,
  load: number,
): VerificationWindow => ({
  side,
  run: makeId("run", "verify", n),
  host: side.startsWith("control") ? WELL.name : UNHEALTHY.name,
  load,
  mean,
  t_ns: [0, 1, 2, 3].map((item) => (Date.parse(toTime("02:50:00")) + item * 1000) * 1e6),
  values: [mean * 0.9, mean * 1.05, mean * 1.1, mean * 0.95],
  citations: [
    {
      run: makeId("run", "verify", n),
      profile: "",
      frame: "",
      collector: "perf_sched",
      artifact: makeId("artifact", makeId("run", "verify", n), "perf_sched", "stdout"),
      part: "sched.txt",
      lines: [1184],
    },
  ],
  missing: null,
});

export const VERIFICATION_RESULT: VerificationResult = {
  hosts: [],
  outcome: "verified",
  change: -0.91,
  low: -0.97,
  high: -0.85,
  p: 0.001,
  minimum_change: 0.1,
  confidence: 0.95,
  per_work: false,
  primary: {
    read: "sched.delay_per_switch",
    unit: "ms",
    better: "lower",
    subject: { cgroup: "/svc/feed" },
  },
  load: { kind: "requests", unit: "per_s", before: 810, after: 842, change: 0.04 },
  reasons: [],
  windows: [
    ...[44.1, 41.7, 47.9].map((mean, i) => createWindow("before", i, mean, 810)),
    ...[3.9, 4.2, 3.7].map((mean, i) => createWindow("after", 10 + i, mean, 842)),
    ...[0.9, 1.1, 1].map((mean, i) => createWindow("control_before", 20 + i, mean, 806)),
    ...[1, 0.9, 1.2].map((mean, i) => createWindow("control_after", 30 + i, mean, 838)),
  ],
  differential: {
    hosts: [UNHEALTHY.name],
    functions: [
      { name: "spin_lock", before: 0.41, after: 0.02, change: -0.39, low: -1, high: 1, sure: false },
      { name: "parse", before: 0.2, after: 0.52, change: 0.32, low: -1, high: 1, sure: false },
    ],
    mapping: { parse: ["parse", "parse.isra.0"] },
    mapped: 1,
    comparison_id: makeId("diff", 1),
  },
};

const frame = (
  n: number,
  name: string,
  a: number,
  b: number,
  children: FlameNode[] = [],
  kind: FlameNode["kind"] = "user",
): FlameNode => ({
  id: n,
  name,
  kind,
  value: b,
  self: b - children.reduce((sum, flameNode) => sum + flameNode.value, 0),
  a,
  b,
  delta: (b - a) / 1000,
  verdict: Math.abs(b - a) > 50 ? "changed" : "noise",
  noise: 0.05,
  children,
});

addRoute("GET", "/comparisons/:id", (_, diff = "") =>
  respond({
    id: diff,
    state: "ready",
    a: { profile_id: makeId("profile", UNHEALTHY.id, 472), profiles: 3, filter: { hide_idle: true } },
    b: { profile_id: makeId("profile", UNHEALTHY.id, 480), profiles: 3, filter: { hide_idle: true } },
    by_base: true,
    failure: null,
  }),
);
const HEAD = {
  total_a: 1000,
  total_b: 1000,
  samples_a: 1000,
  samples_b: 1000,
  seconds_a: 10,
  seconds_b: 10,
  exposure_a: 1000,
  exposure_b: 1000,
  unit: "samples",
  normalize: "share",
  normalizations: ["share", "cpu", "wall", "work"],
  swap: false,
  bursts: "measured",
  tests: 12,
};
const change = (a: number, b: number) => ({
  a,
  b,
  delta: (b - a) / 1000,
  p: Math.abs(b - a) > 50 ? 0.001 : 1,
  noise: 0.05,
  verdict: Math.abs(b - a) > 50 ? "changed" : "noise",
});
addRoute("GET", "/comparisons/:id/work", () => respond({ a: null, b: null }));
addRoute("GET", "/comparisons/:id/functions", () =>
  respond({
    ...HEAD,
    rows: [
      { frame: "spin_lock", kind: "kernel", self: change(410, 20), total: change(410, 20) },
      { frame: "parse", kind: "user", self: change(200, 520), total: change(200, 520) },
      { frame: "write", kind: "kernel", self: change(350, 360), total: change(350, 360) },
    ],
  }),
);
addRoute("GET", "/comparisons/:id/tree", () =>
  respond({
    ...HEAD,
    width_of: "b",
    path: [],
    vanished: [{ path: ["feed", "retry"], node: 5, a: 40, changed: true }],
    new: [],
    modules: {},
    merged: { parse: ["parse", "parse.isra.0"] },
    tree: frame(
      0,
      "all",
      1000,
      1000,
      [
        frame(1, "feed", 960, 900, [
          frame(2, "parse", 200, 520),
          frame(3, "spin_lock", 410, 20, [], "kernel"),
          frame(4, "write", 350, 360, [], "kernel"),
        ]),
      ],
      "root",
    ),
  }),
);

export const createVerification = (extra: Partial<Verification>): Verification => ({
  id: makeId("verification", 1),
  kind: "control",
  primary: { read: "sched.delay_per_switch", better: "lower" },
  minimum_change: 0.1,
  before: [],
  captures_before: [],
  after: [],
  control_host_id: WELL.id,
  state: "done",
  result: VERIFICATION_RESULT,
  failure: null,
  requested_by: LENA,
  created_at: toTime("02:45:00"),
  ended_at: toTime("02:52:00"),
  ...extra,
});

import type { Profile } from "../../src/client/models.ts";
import { HOSTS, NS_PER_S, TAKEN_CAPTURES } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";

export const listProfiles = (hostId: string): Profile[] =>
  TAKEN_CAPTURES.filter((c) => c.plan === "cpu" || c.plan === "baseline")
    .slice(-60)
    .reverse()
    .map((c) => ({
      id: makeId("profile", hostId, c.n),
      created_at: new Date(c.from * 1000).toISOString(),
      run_id: makeId("run", hostId, c.n),
      host: { id: hostId, name: HOSTS.find((h) => h.id === hostId)?.name ?? "host" },
      kind: "on_cpu",
      event: "cpu-clock",
      unit: "samples",
      state: "ready",
      failure: null,
      samples: 59412,
      weight: 59412,
      lost: 0,
      unknown_share: 0.03,
      truncated_share: 0.001,
      t0_ns: c.from * NS_PER_S,
      t1_ns: (c.from + c.seconds) * NS_PER_S,
      method: "perf script --no-inline",
      label: `#${c.n} ${c.plan}`,
    }));

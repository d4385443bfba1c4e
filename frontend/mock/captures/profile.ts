import type { Profile } from "../../src/client/models.ts";
import { id } from "../server/noise.ts";
import { HOSTS, NS, TAKEN } from "../world.ts";

export const profilesOf = (hostId: string): Profile[] =>
  TAKEN.filter((c) => c.plan === "cpu" || c.plan === "baseline")
    .slice(-60)
    .reverse()
    .map((c) => ({
      id: id("profile", hostId, c.n),
      created_at: new Date(c.from * 1000).toISOString(),
      run_id: id("run", hostId, c.n),
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
      t0_ns: c.from * NS,
      t1_ns: (c.from + c.seconds) * NS,
      method: "perf script --no-inline",
      label: `#${c.n} ${c.plan}`,
    }));

/** Catalog, captures with their runs, profiles, and imports. */
import type * as T from "../../src/client/models.ts";
import { HOSTS } from "../dataset.ts";
import { findHighestTier, ptraceRefusal } from "../hosts/consent.ts";
import { createPreflight } from "../hosts/preflight.ts";
import { hashToUnit } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { currentUser, state } from "../server/state.ts";
import { COLLECTORS, PLANS } from "./catalog.ts";
import * as live from "./live.ts";
import { listProfiles } from "./profile.ts";
import { findRun, listRunEvents, listSeries } from "./reads.ts";
import { createScheduler, createSchedulerTracks } from "./sched.ts";

addRoute("POST", "/captures/preview", ({ body }) => {
  const plan = PLANS.find((p) => p.id === body.plan);
  const ids = (body.collectors as string[] | undefined) ?? plan?.collectors.map((c) => c.id) ?? [];
  const seconds = Number(body.seconds ?? plan?.seconds ?? 15);
  const chosen = COLLECTORS.filter((c) => ids.includes(c.id));
  const tier = findHighestTier(chosen);
  const hosts = ((body.host_ids as string[]) ?? []).flatMap((h) => state.hosts.filter((x) => x.id === h));
  const may = currentUser().permissions.includes(`capture.${tier}`);
  const refusal = may
    ? ptraceRefusal(tier, hosts, body.scope as T.CaptureScope | undefined)
    : {
        key: "auth.role_too_low",
        params: {
          action: `capture.${tier}`,
          role: state.role,
          needs: tier === "ptrace" ? "admin" : "oncall",
        },
      };
  return respond({
    tier,
    allowed: refusal === null,
    refusal,
    total_seconds: seconds + (tier === "deep" ? 5 : 0) + 3,
    symbols: ids.includes("perf_record")
      ? {
          bytes: 10e6,
          cpu_s: 0.9,
          max_bytes: 100663296,
          is_first: true,
          text: { key: "capture.symbols_first", params: { mb: 10, cpu_s: 0.9, limit_mb: 101 } },
        }
      : null,
    collectors: chosen.map((c) => ({
      id: c.id,
      tier: c.tier,
      seconds: Math.min(seconds, c.seconds_max),
      commands: [c.methods[0]!.command.replace("{seconds}", String(seconds))],
      cost: c.cost,
      hosts: ((body.host_ids as string[]) ?? []).map((hostId) => {
        const host = state.hosts.find((h) => h.id === hostId);
        const check = host?.facts ? createPreflight(host).collectors?.find((x) => x.id === c.id) : undefined;
        return {
          host_id: hostId,
          state: check?.state ?? "unknown",
          reason: check?.reason ?? null,
          remedy: check?.remedy ?? null,
        };
      }),
    })),
  });
});
addRoute("POST", "/captures", ({ body }) => {
  const hosts = ((body.host_ids as string[]) ?? []).flatMap((h) => state.hosts.filter((x) => x.id === h));
  const plan = PLANS.find((p) => p.id === body.plan);
  state.empty = false;
  return respond(
    live.startCapture(
      hosts,
      String(body.plan),
      Number(body.seconds ?? plan?.seconds ?? 15),
      String(body.reason ?? ""),
    ),
    201,
  );
});
addRoute("GET", "/captures", ({ query }) => {
  if (state.empty) return respondList([]);
  const host = query.get("host");
  const requested = query.get("state");
  const captures = live
    .listCaptures()
    .filter(
      (c) => (!host || c.runs.some((r) => r.host?.id === host)) && (!requested || c.state === requested),
    );
  const from = Number(query.get("cursor") ?? 0);
  const size = Number(query.get("limit") ?? 50);
  return respond({
    items: captures.slice(from, from + size),
    next: from + size < captures.length ? String(from + size) : null,
  });
});
addRoute("GET", "/captures/:id", (_, captureId) => {
  const capture = live.findCapture(captureId ?? "");
  return capture ? respond(capture) : respondProblem(404, "capture.not_found", "No such capture.");
});
addRoute("POST", "/captures/:id/cancel", (_, captureId) => respond(live.cancelCapture(captureId ?? ""), 202));
addRoute("GET", "/runs/:id", (_, runId) => {
  const run = findRun(runId ?? "", live.listCaptures());
  return run ? respond(run) : respondProblem(404, "run.not_found", "No such run.");
});
addRoute("GET", "/runs/:id/series", () => respond(listSeries()));
addRoute("GET", "/runs/:id/events", (_, runId) => respond(listRunEvents(runId ?? "", live.listCaptures())));
addRoute("GET", "/runs/:id/sched", () => respond(createScheduler()));
addRoute("GET", "/runs/:id/sched/tracks", ({ query }) => {
  const from = Number(query.get("from_ns") || 1_795_228_400e9);
  return respond(createSchedulerTracks(from, Number(query.get("to_ns") || from + 5e9), query.get("by")));
});
addRoute("GET", "/artifacts/:id/lines", ({ query }, artifactId) => {
  const from = Number(query.get("from") ?? 1);
  const total = 4211;
  const size = Math.min(Number(query.get("count") ?? 200), total - from + 1);
  return respond({
    from,
    total,
    lines: Array.from({ length: Math.max(0, size) }, (_, i) => {
      const n = from + i;
      return n % 40 === 1
        ? `@ ${Math.floor(n / 40)} ${901223344556677 + n * 1_000_000_000} /proc/stat`
        : `cpu${n % 40} ${Math.floor(hashToUnit(artifactId ?? "", n) * 1e7)} ${n * 3} ${n * 17} 8821${n} 12 0 ${n} 0 0 0`;
    }),
  });
});
addRoute("GET", "/profiles", ({ query }) =>
  respondList(state.empty ? [] : listProfiles(query.get("host") ?? HOSTS[1]!.id)),
);
addRoute("POST", "/imports", () => {
  if (Math.random() < 0) return respondProblem(422, "import.unreadable", "line 3");
  return respondProblem(422, "import.bad_line", "Line 3 is neither a sample's head nor a frame.", {
    line: 3,
  });
});
addRoute("POST", "/imports/example", () => respond(live.findCapture(live.listCaptures()[3]!.id), 201));
addRoute("POST", "/demo/load", () => respond({}, 202));

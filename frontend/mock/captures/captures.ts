/** What may be captured, captures and their runs, profiles and imports. */
import type * as T from "../../src/client/models.ts";
import { ptraceRefusal, tierOf } from "../hosts/consent.ts";
import { preflight } from "../hosts/preflight.ts";
import { hash } from "../server/noise.ts";
import { list, ok, problem, route } from "../server/routes.ts";
import { me, state } from "../server/state.ts";
import { HOSTS } from "../world.ts";
import { COLLECTORS, METRICS, PLANS } from "./catalog.ts";
import * as live from "./live.ts";
import { profilesOf } from "./profile.ts";
import { eventsOfRun, runDetail, seriesOf } from "./reads.ts";
import { sched, schedTracks } from "./sched.ts";

route("GET", "/catalog/collectors", () => ok(COLLECTORS));
route("GET", "/catalog/plans", () => ok(PLANS));
route("GET", "/catalog/metrics", () => ok(METRICS));

route("POST", "/captures/preview", ({ body }) => {
  const plan = PLANS.find((p) => p.id === body.plan);
  const ids = (body.collectors as string[] | undefined) ?? plan?.collectors.map((c) => c.id) ?? [];
  const seconds = Number(body.seconds ?? plan?.seconds ?? 15);
  const chosen = COLLECTORS.filter((c) => ids.includes(c.id));
  const tier = tierOf(chosen);
  const hosts = ((body.host_ids as string[]) ?? []).flatMap((h) => state.hosts.filter((x) => x.id === h));
  const may = me().permissions.includes(`capture.${tier}`);
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
  return ok({
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
        const check = host?.facts ? preflight(host).collectors?.find((x) => x.id === c.id) : undefined;
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
route("POST", "/captures", ({ body }) => {
  const hosts = ((body.host_ids as string[]) ?? []).flatMap((h) => state.hosts.filter((x) => x.id === h));
  const plan = PLANS.find((p) => p.id === body.plan);
  state.empty = false;
  return ok(
    live.begin(
      hosts,
      String(body.plan),
      Number(body.seconds ?? plan?.seconds ?? 15),
      String(body.reason ?? ""),
    ),
    201,
  );
});
route("GET", "/captures", ({ query }) => {
  if (state.empty) return list([]);
  const host = query.get("host");
  const requested = query.get("state");
  const captures = live
    .allCaptures()
    .filter(
      (c) => (!host || c.runs.some((r) => r.host?.id === host)) && (!requested || c.state === requested),
    );
  const from = Number(query.get("cursor") ?? 0);
  const size = Number(query.get("limit") ?? 50);
  return ok({
    items: captures.slice(from, from + size),
    next: from + size < captures.length ? String(from + size) : null,
  });
});
route("GET", "/captures/:id", (_, captureId) => {
  const capture = live.read(captureId ?? "");
  return capture ? ok(capture) : problem(404, "capture.not_found", "No such capture.");
});
route("POST", "/captures/:id/cancel", (_, captureId) => ok(live.cancel(captureId ?? ""), 202));
route("GET", "/runs/:id", (_, runId) => {
  const run = runDetail(runId ?? "", live.allCaptures());
  return run ? ok(run) : problem(404, "run.not_found", "No such run.");
});
route("GET", "/runs/:id/series", () => ok(seriesOf()));
route("GET", "/runs/:id/events", (_, runId) => ok(eventsOfRun(runId ?? "", live.allCaptures())));
route("GET", "/runs/:id/sched", () => ok(sched()));
route("GET", "/runs/:id/sched/tracks", ({ query }) => {
  const from = Number(query.get("from_ns") || 1_795_228_400e9);
  return ok(schedTracks(from, Number(query.get("to_ns") || from + 5e9), query.get("by")));
});
route("GET", "/artifacts/:id/lines", ({ query }, artifactId) => {
  const from = Number(query.get("from") ?? 1);
  const total = 4211;
  const size = Math.min(Number(query.get("count") ?? 200), total - from + 1);
  return ok({
    from,
    total,
    lines: Array.from({ length: Math.max(0, size) }, (_, i) => {
      const n = from + i;
      return n % 40 === 1
        ? `@ ${Math.floor(n / 40)} ${901223344556677 + n * 1_000_000_000} /proc/stat`
        : `cpu${n % 40} ${Math.floor(hash(artifactId ?? "", n) * 1e7)} ${n * 3} ${n * 17} 8821${n} 12 0 ${n} 0 0 0`;
    }),
  });
});
route("GET", "/profiles", ({ query }) =>
  list(state.empty ? [] : profilesOf(query.get("host") ?? HOSTS[1]!.id)),
);
route("POST", "/imports", () => {
  if (Math.random() < 0) return problem(422, "import.unreadable", "line 3");
  return problem(422, "import.bad_line", "Line 3 is neither a sample's head nor a frame.", { line: 3 });
});
route("POST", "/imports/example", () => ok(live.read(live.allCaptures()[3]!.id), 201));
route("POST", "/demo/load", () => ok({}, 202));

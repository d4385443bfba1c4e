import type * as T from "../src/client/types.ts";
import { COLLECTORS, METRICS, PLANS } from "./catalogue.ts";
import { allDiagnoses, ask, cancelDiagnosis, hostFindings, readDiagnosis, runFindings } from "./findings.ts";
import { CAUSES, RULES, THRESHOLDS } from "./knowledge.ts";
import * as live from "./live.ts";
import { hash, id } from "./noise.ts";
import { preflight } from "./preflight.ts";
import { profilesOf } from "./profile.ts";
import { citation, eventsOfRun, overview, runDetail, seriesOf, timeline } from "./reads.ts";
import { sched, schedLanes } from "./sched.ts";
import { HOSTS } from "./world.ts";

export interface MockRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}
export interface MockAnswer {
  status: number;
  body?: unknown;
}

const ok = (body: unknown, status = 200): MockAnswer => ({ status, body });
const problem = (
  status: number,
  key: string,
  detail: string,
  params: Record<string, unknown> = {},
): MockAnswer => ({
  status,
  body: { type: "about:blank", title: "", status, detail, key, params },
});
const list = <X>(items: X[]): MockAnswer => ok({ items, next: null });

const USERS: T.User[] = ["admin", "lena", "wei", "mo"].map(
  (name, i): T.User => ({
    id: id("user", i),
    name,
    role: (["admin", "oncall", "investigator", "viewer"] as const)[i] as T.Role,
    label_scope: i === 3 ? { role: ["feed"] } : {},
    locale: i === 2 ? "zh" : "en",
    has_password: true,
    disabled_at: null,
    created_at: "2026-03-01T08:00:00Z",
  }),
);

/** What the server holds that screens may change. */
export const state = {
  signedIn: true,
  needsPassword: false,
  role: "admin" as T.Role,
  hosts: [...HOSTS],
  empty: false,
  credentials: [
    {
      id: id("cred", 0),
      name: "fleet key",
      kind: "generated_key",
      username: "culprit",
      public: {
        authorized_keys_line:
          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFakeFakeFakeFakeFakeFakeFakeFakeFake culprit fleet key",
      },
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: id("cred", 1),
      name: "breakglass",
      kind: "key",
      username: "root",
      public: {},
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: id("cred", 2),
      name: "lab agent",
      kind: "agent",
      username: null,
      public: {},
      created_at: "2026-05-01T08:00:00Z",
    },
  ] as T.Credential[],
  services: [] as T.Service[],
  rules: [
    {
      id: id("rule", 0),
      cidr: "127.0.0.1/32",
      port_from: 42022,
      port_to: 42022,
      note: "this machine",
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: id("rule", 1),
      cidr: "10.40.0.0/14",
      port_from: 22,
      port_to: 22,
      note: "fleet",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as T.NetworkRule[],
  thresholds: [...THRESHOLDS],
  tokens: [
    {
      id: id("token", 0),
      name: "cli on this machine",
      prefix: "culprit_a81f",
      role: "admin",
      expires_at: null,
      last_used_at: "2026-11-21T02:30:00Z",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as T.ApiToken[],
};

const MAY: Record<T.Role, string[]> = {
  viewer: ["host.read", "capture.read", "profile.read", "finding.read", "token.own"],
  investigator: [
    "artifact.read",
    "capture.light",
    "capture.standard",
    "capture.cancel",
    "capture.import",
    "profile.diff",
    "host.check",
    "demo.busy",
  ],
  oncall: ["capture.deep"],
  admin: [
    "capture.ptrace",
    "host.enrol",
    "host.edit",
    "host.pin",
    "host.retire",
    "credential.manage",
    "network.manage",
    "user.manage",
    "audit.read",
    "threshold.manage",
  ],
};
const ORDER: T.Role[] = ["viewer", "investigator", "oncall", "admin"];

function me(): T.Me {
  const user = USERS[0]!;
  return {
    id: user.id,
    name: user.name,
    role: state.role,
    locale: "en",
    label_scope: {},
    csrf: "mock",
    may: ORDER.slice(0, ORDER.indexOf(state.role) + 1).flatMap((r) => MAY[r]),
    version: "0.1.0",
    needs_password: state.needsPassword,
    this_host: HOSTS[0]!.id,
  };
}

type Handler = (request: MockRequest, ...ids: string[]) => MockAnswer;

const ROUTES: [string, RegExp, Handler][] = [];
const route = (method: string, pattern: string, handler: Handler): void => {
  ROUTES.push([method, new RegExp(`^${pattern.replace(/:id/g, "([^/]+)")}$`), handler]);
};

route("POST", "/session", ({ body }) => {
  if (body.password !== "correct horse") return problem(401, "auth.wrong", "wrong");
  state.signedIn = true;
  return ok(me());
});
route("DELETE", "/session", () => {
  state.signedIn = false;
  return { status: 204 };
});
route("POST", "/session/link", ({ body }) => {
  if (body.token === "used") return problem(401, "auth.link", "The link was used.");
  state.signedIn = true;
  state.needsPassword = true;
  return ok(me());
});
route("GET", "/me", () => (state.signedIn ? ok(me()) : problem(401, "auth.required", "Sign in.")));
route("PATCH", "/me", ({ body }) => {
  if (body.password) state.needsPassword = false;
  return ok(me());
});
route("GET", "/users", () => list(USERS));
route("POST", "/users", ({ body }) =>
  ok(
    {
      ...USERS[1]!,
      ...body,
      id: id("user", Math.random()),
      login_link: "http://127.0.0.1:8700/login#token=abcDEF0123456789",
    },
    201,
  ),
);
route("PATCH", "/users/:id", ({ body }) => ok({ ...USERS[1]!, ...body }));
route("GET", "/tokens", () => list(state.tokens));
route("POST", "/tokens", ({ body }) => {
  const token: T.ApiToken = {
    id: id("token", Math.random()),
    name: String(body.name),
    prefix: "culprit_9f2c",
    role: "investigator",
    expires_at: null,
    last_used_at: null,
    created_at: new Date().toISOString(),
  };
  state.tokens.push(token);
  return ok({ ...token, token: "culprit_9f2cK2n3vV8pQ0rT5yX7zB1cD4eF6gH" }, 201);
});
route("DELETE", "/tokens/:id", (_, tokenId) => {
  state.tokens = state.tokens.filter((t) => t.id !== tokenId);
  return { status: 204 };
});
route("GET", "/audit", () =>
  ok({
    items: Array.from({ length: 80 }, (_, i) => ({
      id: id("audit", i),
      seq: 900 - i,
      at: new Date(Date.UTC(2026, 10, 21, 2, 30) - i * 411_000).toISOString(),
      actor_id: null,
      actor_name: ["admin", "lena", "wei", "culprit"][i % 4],
      action: ["capture.create", "host.enrol", "session.open", "host.pin", "capture.cancel"][i % 5],
      resource_kind: ["capture", "host", "session", "host", "capture"][i % 5],
      resource_id: id("r", i),
      detail: i % 5 === 3 ? { from: "SHA256:abc", to: "SHA256:def", reason: "reinstalled" } : { plan: "cpu" },
      address: "10.0.0.12",
      hash: "9f",
    })),
    next: null,
    head: "9f2c",
  }),
);
route("GET", "/credentials", () => list(state.credentials));
route("POST", "/credentials", ({ body }) => {
  const credential = {
    id: id("cred", Math.random()),
    name: String(body.name),
    kind: body.kind,
    username: (body.username as string) ?? null,
    public:
      body.kind === "generated_key"
        ? {
            authorized_keys_line:
              "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINewNewNewNewNewNewNewNewNewNewNewNewNew culprit",
          }
        : {},
    created_at: new Date().toISOString(),
  } as T.Credential;
  state.credentials.push(credential);
  return ok(credential, 201);
});
route("DELETE", "/credentials/:id", () => problem(409, "credential.in_use", "It is used by 166 hosts."));
route("GET", "/network-rules", () => list(state.rules));
route("POST", "/network-rules", ({ body }) => {
  const rule = {
    ...body,
    id: id("rule", Math.random()),
    created_at: new Date().toISOString(),
  } as T.NetworkRule;
  state.rules.push(rule);
  return ok(rule, 201);
});
route("DELETE", "/network-rules/:id", (_, ruleId) => {
  state.rules = state.rules.filter((r) => r.id !== ruleId);
  return { status: 204 };
});

route("GET", "/services", () => list(state.services));
route("POST", "/services", ({ body }) => {
  const { token, ...given } = body;
  const source = given.source as T.ServiceSource;
  const service = {
    locate: null,
    ...given,
    id: id("svc", Math.random()),
    has_token: Boolean(token),
    missing: source.kind === "none" ? ["rate", "errors", "latency"] : [],
    proxy: source.kind === "accepts",
    hosts: 2,
    created_at: new Date().toISOString(),
  } as unknown as T.Service;
  state.services.push(service);
  return ok(service, 201);
});
route("POST", "/services/:id/check", () =>
  ok({
    results: [
      { name: "rate", query: "r", series: 1, points: 300, last: 812.4, failure: null },
      {
        name: "errors",
        query: "e",
        series: 0,
        points: 0,
        last: null,
        failure: { key: "reports.prometheus_error", params: { said: "parse error" } },
      },
    ],
  }),
);
route("DELETE", "/services/:id", (_, serviceId) => {
  state.services = state.services.filter((one) => one.id !== serviceId);
  return { status: 204 };
});

route("GET", "/hosts", ({ query }) => {
  const q = (query.get("q") ?? "").toLowerCase();
  const label = query.get("label");
  const wanted = query.get("state");
  const found = (state.empty ? state.hosts.slice(0, 1) : state.hosts).filter(
    (h) =>
      (!q || h.name.includes(q) || h.address.includes(q)) &&
      (!label || h.labels[label.split(":")[0] ?? ""] === label.split(":")[1]) &&
      (!wanted || h.state === wanted),
  );
  const from = Number(query.get("cursor") ?? 0);
  const size = Number(query.get("limit") ?? 50);
  return ok({
    items: found.slice(from, from + size),
    next: from + size < found.length ? String(from + size) : null,
  });
});
route("POST", "/hosts/scan-key", ({ body }) => {
  if (String(body.address).includes("unreachable"))
    return problem(422, "host.unreachable", "No answer from that address within 10 s.");
  return ok({
    type: "ssh-ed25519",
    fingerprint: "SHA256:qJ1c0m1XbZk0v6mKxwq8sJ0s0Jx9cJk8r3bS3w9Zx0Q",
    public_key: "ssh-ed25519 AAAA",
  });
});
route("POST", "/hosts/import", ({ body }) => {
  const lines = String(body.text).split("\n").filter(Boolean);
  const rows = lines.map((line, i) => {
    const verdict = (["ok", "ok", "exists", "ok", "refused", "incomplete"] as const)[i % 6]!;
    return {
      line: i + 1,
      name: line.split(/[\s,]/)[0] || `host-${i}`,
      address: `10.41.0.${i + 2}`,
      port: 22,
      username: "culprit",
      verdict: !body.dry_run && verdict === "ok" ? "added" : verdict,
      reason:
        verdict === "refused"
          ? { key: "import.outside_networks", params: { address: `10.41.0.${i + 2}`, port: 22 } }
          : verdict === "incomplete"
            ? { key: "import.no_user", params: {} }
            : null,
    };
  });
  return ok({ rows, added: body.dry_run ? 0 : rows.filter((r) => r.verdict === "added").length });
});
route("POST", "/hosts", ({ body }) => {
  const host = {
    ...HOSTS[5]!,
    id: id("host", Math.random()),
    name: String(body.name),
    address: String(body.address),
    facts: null,
    last_run: null,
    captures: 0,
  };
  state.hosts.unshift(host);
  return ok(host, 201);
});
const hostOr404 = (hostId: string | undefined, then: (host: T.Host) => MockAnswer): MockAnswer => {
  const host = state.hosts.find((h) => h.id === hostId);
  return host ? then(host) : problem(404, "host.not_found", "No such host.");
};
route("GET", "/hosts/:id", (_, hostId) => hostOr404(hostId, (host) => ok(host)));
route("PATCH", "/hosts/:id", ({ body }, hostId) =>
  hostOr404(hostId, (host) => ok(Object.assign(host, body))),
);
route("DELETE", "/hosts/:id", (_, hostId) =>
  hostOr404(hostId, (host) => ok(Object.assign(host, { state: "retired" }))),
);
route("POST", "/hosts/:id/pin", ({ body }, hostId) =>
  hostOr404(hostId, (host) =>
    ok(
      Object.assign(host, {
        host_key: { type: "ssh-ed25519", fingerprint: body.fingerprint, pinned_at: new Date().toISOString() },
      }),
    ),
  ),
);
const checks = new Map<string, number>();
route("POST", "/hosts/:id/check", (_, hostId) =>
  hostOr404(hostId, (host) => {
    checks.set(host.id, Date.now());
    return ok(preflight(host, "running"), 202);
  }),
);
route("GET", "/hosts/:id/preflight", (_, hostId) =>
  hostOr404(hostId, (host) => {
    const began = checks.get(host.id);
    if (!host.facts && !began) return problem(404, "preflight.none", "Not checked yet.");
    return ok(preflight(host, began && Date.now() - began < 2500 ? "running" : "done"));
  }),
);
route("GET", "/hosts/:id/timeline", ({ query }, hostId) =>
  ok(
    timeline(
      hostId ?? "",
      Number(query.get("from_ns")),
      Number(query.get("to_ns")),
      Number(query.get("width") ?? 1200),
      (query.get("metrics") ?? "").split(",").filter(Boolean),
    ),
  ),
);
route("GET", "/hosts/:id/timeline/overview", (_, hostId) => {
  if (state.empty || HOSTS.findIndex((h) => h.id === hostId) > 40)
    return ok({ first_ns: null, last_ns: null, runs: [], lanes: [] });
  return ok(overview(hostId ?? ""));
});
route("GET", "/cite", ({ query }) =>
  ok(citation(query.get("host_id") ?? "", query.get("metric") ?? "", Number(query.get("t_ns")))),
);

route("GET", "/collectors", () => ok(COLLECTORS));
route("GET", "/plans", () => ok(PLANS));
route("GET", "/metric-catalogue", () => ok(METRICS));

route("POST", "/captures/preview", ({ body }) => {
  const plan = PLANS.find((p) => p.id === body.plan);
  const ids = (body.collectors as string[] | undefined) ?? plan?.collectors.map((c) => c.id) ?? [];
  const seconds = Number(body.seconds ?? plan?.seconds ?? 15);
  const chosen = COLLECTORS.filter((c) => ids.includes(c.id));
  const tier = chosen.some((c) => c.tier === "deep")
    ? "deep"
    : chosen.some((c) => c.tier === "standard")
      ? "standard"
      : "light";
  const allowed = me().may.includes(`capture.${tier}`);
  return ok({
    tier,
    allowed,
    refusal: allowed
      ? null
      : {
          key: "auth.role_too_low",
          params: { action: `capture.${tier}`, role: state.role, needs: "oncall" },
        },
    total_seconds: seconds + (tier === "deep" ? 5 : 0) + 3,
    collectors: chosen.map((c) => ({
      id: c.id,
      tier: c.tier,
      seconds: Math.min(seconds, c.seconds_max),
      commands: [c.ways[0]!.shows.replace("{seconds}", String(seconds))],
      cost: c.cost,
      hosts: ((body.host_ids as string[]) ?? []).map((hostId) => {
        const host = state.hosts.find((h) => h.id === hostId);
        const found = host?.facts ? preflight(host).collectors?.find((x) => x.id === c.id) : undefined;
        return {
          host_id: hostId,
          state: found?.state ?? "unknown",
          reason: found?.reason ?? null,
          mend: found?.mend ?? null,
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
  const wanted = query.get("state");
  const found = live
    .allCaptures()
    .filter((c) => (!host || c.runs.some((r) => r.host?.id === host)) && (!wanted || c.state === wanted));
  const from = Number(query.get("cursor") ?? 0);
  const size = Number(query.get("limit") ?? 50);
  return ok({
    items: found.slice(from, from + size),
    next: from + size < found.length ? String(from + size) : null,
  });
});
route("GET", "/captures/:id", (_, captureId) => {
  const found = live.read(captureId ?? "");
  return found ? ok(found) : problem(404, "capture.not_found", "No such capture.");
});
route("POST", "/captures/:id/cancel", (_, captureId) => ok(live.cancel(captureId ?? ""), 202));
route("GET", "/runs/:id", (_, runId) => {
  const found = runDetail(runId ?? "", live.allCaptures());
  return found ? ok(found) : problem(404, "run.not_found", "No such run.");
});
route("GET", "/runs/:id/series", () => ok(seriesOf()));
route("GET", "/runs/:id/events", (_, runId) => ok(eventsOfRun(runId ?? "", live.allCaptures())));
route("GET", "/runs/:id/sched", () => ok(sched()));
route("GET", "/runs/:id/sched/lanes", ({ query }) => {
  const from = Number(query.get("from_ns") || 1_795_228_400e9);
  return ok(schedLanes(from, Number(query.get("to_ns") || from + 5e9)));
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
route("GET", "/runs/:id/findings", (_, runId) => ok(runFindings(runId ?? "")));
route("GET", "/hosts/:id/findings", (_, hostId) => ok(hostFindings(hostId ?? "")));
route("GET", "/rules", () => ok(RULES));
route("GET", "/causes", () => ok(CAUSES));
route("GET", "/thresholds", () => ok(state.thresholds));
route("PUT", "/thresholds", ({ body }) => {
  const made = {
    label_name: null,
    label_value: null,
    host_id: null,
    ...body,
    id: id("threshold", Math.random()),
    default: 1,
    created_at: new Date().toISOString(),
  } as T.Threshold;
  state.thresholds.push(made);
  return ok(made);
});
route("DELETE", "/thresholds/:id", (_, thresholdId) => {
  state.thresholds = state.thresholds.filter((one) => one.id !== thresholdId);
  return { status: 204 };
});
route("POST", "/diagnoses", ({ body }) => {
  const made = ask(body);
  return made ? ok(made, 201) : problem(404, "host.not_found", "No such host.");
});
route("GET", "/diagnoses", ({ query }) => {
  const host = query.get("host");
  return list(state.empty ? [] : allDiagnoses().filter((one) => !host || one.host.id === host));
});
route("GET", "/diagnoses/:id", (_, diagnosisId) => {
  const found = readDiagnosis(diagnosisId ?? "");
  return found ? ok(found) : problem(404, "diagnosis.not_found", "No such diagnosis.");
});
route("POST", "/diagnoses/:id/cancel", (_, diagnosisId) => ok(cancelDiagnosis(diagnosisId ?? "")));
route("GET", "/profiles", ({ query }) =>
  list(state.empty ? [] : profilesOf(query.get("host") ?? HOSTS[1]!.id)),
);
route("POST", "/imports", () => {
  if (Math.random() < 0) return problem(422, "import.unreadable", "line 3");
  return problem(422, "import.bad_line", "Line 3 is neither a sample's head nor a frame.", { line: 3 });
});
route("POST", "/imports/example", () => ok(live.read(live.allCaptures()[3]!.id), 201));
route("POST", "/demo/busy", () => ok({}, 202));

/** Answers one request. */
export function answer(request: MockRequest): MockAnswer {
  if (!state.signedIn && !request.path.startsWith("/session"))
    return problem(401, "auth.required", "Sign in.");
  for (const [method, pattern, handler] of ROUTES) {
    if (method !== request.method) continue;
    const match = pattern.exec(request.path);
    if (match) return handler(request, ...match.slice(1));
  }
  return problem(404, "request.no_route", `${request.method} ${request.path}`);
}

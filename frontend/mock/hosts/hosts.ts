/** Hosts: enrolling, checking, and their timelines. */
import type * as T from "../../src/client/models.ts";
import { citation, overview, timeline } from "../captures/reads.ts";
import { id } from "../server/noise.ts";
import { type MockAnswer, ok, problem, route } from "../server/routes.ts";
import { state } from "../server/state.ts";
import { HOSTS } from "../world.ts";
import { preflight } from "./preflight.ts";

route("GET", "/hosts", ({ query }) => {
  const q = (query.get("q") ?? "").toLowerCase();
  const label = query.get("label");
  const hostState = query.get("state");
  const matches = (state.empty ? state.hosts.slice(0, 1) : state.hosts).filter(
    (h) =>
      (!q || h.name.includes(q) || h.address.includes(q)) &&
      (!label || h.labels[label.split(":")[0] ?? ""] === label.split(":")[1]) &&
      (!hostState || h.state === hostState),
  );
  const from = Number(query.get("cursor") ?? 0);
  const size = Number(query.get("limit") ?? 50);
  return ok({
    items: matches.slice(from, from + size),
    next: from + size < matches.length ? String(from + size) : null,
  });
});
route("POST", "/host-key-scans", ({ body }) => {
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
route("PUT", "/hosts/:id/host-key", ({ body }, hostId) =>
  hostOr404(hostId, (host) =>
    ok(
      Object.assign(host, {
        host_key: {
          type: "ssh-ed25519",
          fingerprint: body.fingerprint,
          trusted_at: new Date().toISOString(),
        },
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
    return ok({ first_ns: null, last_ns: null, runs: [], tracks: [] });
  return ok(overview(hostId ?? ""));
});
route("GET", "/citations", ({ query }) =>
  ok(citation(query.get("host_id") ?? "", query.get("metric") ?? "", Number(query.get("t_ns")))),
);

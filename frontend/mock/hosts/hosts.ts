/** Hosts with their preflight checks and timelines. */
import type * as T from "../../src/client/models.ts";
import { createCitation, createOverview, createTimeline } from "../captures/reads.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, type MockAnswer, respond, respondProblem } from "../server/routes.ts";
import { state } from "../server/state.ts";
import { createPreflight } from "./preflight.ts";

addRoute("GET", "/hosts", ({ query }) => {
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
  return respond({
    items: matches.slice(from, from + size),
    next: from + size < matches.length ? String(from + size) : null,
  });
});
addRoute("POST", "/host-key-scans", ({ body }) => {
  if (String(body.address).includes("unreachable"))
    return respondProblem(422, "host.unreachable", "No answer from that address within 10 s.");
  return respond({
    type: "ssh-ed25519",
    fingerprint: "SHA256:qJ1c0m1XbZk0v6mKxwq8sJ0s0Jx9cJk8r3bS3w9Zx0Q",
    public_key: "ssh-ed25519 AAAA",
  });
});
addRoute("POST", "/hosts/import", ({ body }) => {
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
  return respond({ rows, added: body.dry_run ? 0 : rows.filter((r) => r.verdict === "added").length });
});
addRoute("POST", "/hosts", ({ body }) => {
  const host = {
    ...HOSTS[5]!,
    id: makeId("host", Math.random()),
    name: String(body.name),
    address: String(body.address),
    facts: null,
    last_run: null,
    captures: 0,
  };
  state.hosts.unshift(host);
  return respond(host, 201);
});
const hostOr404 = (hostId: string | undefined, then: (host: T.Host) => MockAnswer): MockAnswer => {
  const host = state.hosts.find((h) => h.id === hostId);
  return host ? then(host) : respondProblem(404, "host.not_found", "No such host.");
};
addRoute("GET", "/hosts/:id", (_, hostId) => hostOr404(hostId, (host) => respond(host)));
addRoute("PATCH", "/hosts/:id", ({ body }, hostId) =>
  hostOr404(hostId, (host) => respond(Object.assign(host, body))),
);
addRoute("DELETE", "/hosts/:id", (_, hostId) =>
  hostOr404(hostId, (host) => respond(Object.assign(host, { state: "retired" }))),
);
addRoute("PUT", "/hosts/:id/host-key", ({ body }, hostId) =>
  hostOr404(hostId, (host) =>
    respond(
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
addRoute("POST", "/hosts/:id/check", (_, hostId) =>
  hostOr404(hostId, (host) => {
    checks.set(host.id, Date.now());
    return respond(createPreflight(host, "running"), 202);
  }),
);
addRoute("GET", "/hosts/:id/preflight", (_, hostId) =>
  hostOr404(hostId, (host) => {
    const began = checks.get(host.id);
    if (!host.facts && !began) return respondProblem(404, "preflight.none", "Not checked yet.");
    return respond(createPreflight(host, began && Date.now() - began < 2500 ? "running" : "done"));
  }),
);
addRoute("GET", "/hosts/:id/timeline", ({ query }, hostId) =>
  respond(
    createTimeline(
      hostId ?? "",
      Number(query.get("from_ns")),
      Number(query.get("to_ns")),
      Number(query.get("width") ?? 1200),
      (query.get("metrics") ?? "").split(",").filter(Boolean),
    ),
  ),
);
addRoute("GET", "/hosts/:id/timeline/overview", (_, hostId) => {
  if (state.empty || HOSTS.findIndex((h) => h.id === hostId) > 40)
    return respond({ first_ns: null, last_ns: null, runs: [], tracks: [] });
  return respond(createOverview(hostId ?? ""));
});
addRoute("GET", "/citations", ({ query }) =>
  respond(createCitation(query.get("host_id") ?? "", query.get("metric") ?? "", Number(query.get("t_ns")))),
);

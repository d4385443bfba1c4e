/** Who is signed in and what only admins change: users, tokens, credentials, networks, services. */
import type * as T from "../src/client/models.ts";
import type { ServiceSource } from "../src/features/services/api.ts";
import type { ApiToken, NetworkRule } from "../src/features/settings/api.ts";
import { id } from "./server/noise.ts";
import { list, type MockAnswer, ok, problem, route } from "./server/routes.ts";
import { me, REDIRECT, state, USERS } from "./server/state.ts";

/** What the server answers to changes of permissions while the session has no recent proof. */
const proofNeeded = (): MockAnswer | undefined =>
  state.proofNeeded
    ? {
        status: 403,
        body: {
          type: "urn:culprit:problem:proof-needed",
          title: "Forbidden",
          status: 403,
          detail: "Prove again who you are, then repeat this.",
          key: "auth.proof_needed",
          params: { how: state.proofNeeded, minutes: 15 },
        },
      }
    : undefined;

route("POST", "/session", ({ body }) => {
  if (body.password !== "correct horse") return problem(401, "auth.wrong_password", "wrong");
  state.signedIn = true;
  return ok(me());
});
route("DELETE", "/session", () => {
  state.signedIn = false;
  return { status: 204 };
});
route("POST", "/session/link", ({ body }) => {
  if (body.token === "used") return problem(401, "auth.link_over", "The link was used.");
  state.signedIn = true;
  state.needsPassword = true;
  return ok(me());
});
route("POST", "/session/proof", ({ body }) => {
  if (body.password !== "correct horse")
    return problem(422, "auth.current_password_wrong", "The current password is wrong.");
  state.proofNeeded = null;
  return { status: 204 };
});
route("POST", "/session/oidc/proof", () => ok({ url: "https://id.example.com/authorize?state=proof" }));
route("GET", "/session/methods", () =>
  ok({ provider: state.provider?.enabled ? state.provider.name : null }),
);
route("POST", "/session/oidc", () => ok({ url: "https://id.example.com/authorize?state=mock" }));
route("GET", "/session/oidc/end", () => ok({ url: null }));
route("GET", "/oidc-provider", () => ok({ provider: state.provider, redirect_uri: REDIRECT }));
route("PUT", "/oidc-provider", ({ body }) => {
  const { client_secret: secret, public: open, ...rest } = body;
  state.provider = {
    id: id("provider", 0),
    updated_at: new Date().toISOString(),
    redirect_uri: REDIRECT,
    people: state.provider?.people ?? 0,
    ...rest,
    has_secret: !open && (Boolean(secret) || state.provider?.has_secret === true),
    version: Number(body.version) + 1,
  } as NonNullable<typeof state.provider>;
  return ok({ provider: state.provider, redirect_uri: REDIRECT });
});
route("DELETE", "/oidc-provider", () => {
  state.provider = null;
  return { status: 204 };
});
route("POST", "/oidc-provider/check", () =>
  ok({ ok: true, failure: null, detail: "", algorithms: ["RS256", "ES256"], keys: 2, end_session: true }),
);
route("GET", "/me", () => (state.signedIn ? ok(me()) : problem(401, "auth.needed", "Sign in.")));
route("PATCH", "/me", ({ body }) => {
  if (body.password) state.needsPassword = false;
  return ok(me());
});
route("GET", "/users", () => list(USERS));
route(
  "POST",
  "/users",
  ({ body }) =>
    proofNeeded() ??
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
  const token: ApiToken = {
    id: id("token", Math.random()),
    name: String(body.name),
    prefix: "culprit_9f2c",
    role: "investigator",
    purpose: body.purpose === "events" ? "events" : null,
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
      action: ["capture.create", "host.add", "session.open", "host.trust_key", "capture.cancel"][i % 5],
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
  } as NetworkRule;
  state.rules.push(rule);
  return ok(rule, 201);
});
route("DELETE", "/network-rules/:id", (_, ruleId) => {
  state.rules = state.rules.filter((r) => r.id !== ruleId);
  return { status: 204 };
});

route("GET", "/services", () => list(state.services));
route("POST", "/services", ({ body }) => {
  const { token, ...changes } = body;
  const source = changes.source as ServiceSource;
  const service = {
    locate: null,
    ...changes,
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
        failure: { key: "reports.prometheus_error", params: { message: "parse error" } },
      },
    ],
  }),
);
route("DELETE", "/services/:id", (_, serviceId) => {
  state.services = state.services.filter((service) => service.id !== serviceId);
  return { status: 204 };
});

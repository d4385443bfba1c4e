/** Session, and resources that only admins change: users, tokens, credentials, networks, services. */
import type * as T from "../src/client/models.ts";
import type { ServiceSource } from "../src/features/services/api.ts";
import type { ApiToken, DebuginfodServer, NetworkRule } from "../src/features/settings/api.ts";
import { makeId } from "./server/pseudoRandom.ts";
import { addRoute, type MockAnswer, respond, respondList, respondProblem } from "./server/routes.ts";
import { currentUser, REDIRECT_URI, state, USERS } from "./server/state.ts";

/** Return the error of changes of permissions while the user must reauthenticate, else undefined. */
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

addRoute("POST", "/session", ({ body }) => {
  if (body.password !== "correct horse") return respondProblem(401, "auth.wrong_password", "wrong");
  state.signedIn = true;
  return respond(currentUser());
});
addRoute("DELETE", "/session", () => {
  state.signedIn = false;
  return { status: 204 };
});
addRoute("POST", "/session/link", ({ body }) => {
  if (body.token === "used") return respondProblem(401, "auth.link_over", "The link was used.");
  state.signedIn = true;
  state.needsPassword = true;
  return respond(currentUser());
});
addRoute("POST", "/session/proof", ({ body }) => {
  if (body.password !== "correct horse")
    return respondProblem(422, "auth.current_password_wrong", "The current password is wrong.");
  state.proofNeeded = null;
  return { status: 204 };
});
addRoute("POST", "/session/oidc/proof", () =>
  respond({ url: "https://id.example.com/authorize?state=proof" }),
);
addRoute("GET", "/session/methods", () =>
  respond({ provider: state.provider?.enabled ? state.provider.name : null }),
);
addRoute("POST", "/session/oidc", () => respond({ url: "https://id.example.com/authorize?state=mock" }));
addRoute("GET", "/session/oidc/end", () => respond({ url: null }));
addRoute("GET", "/oidc-provider", () => respond({ provider: state.provider, redirect_uri: REDIRECT_URI }));
addRoute("PUT", "/oidc-provider", ({ body }) => {
  const { client_secret: secret, public: open, ...rest } = body;
  state.provider = {
    id: makeId("provider", 0),
    updated_at: new Date().toISOString(),
    redirect_uri: REDIRECT_URI,
    people: state.provider?.people ?? 0,
    ...rest,
    has_secret: !open && (Boolean(secret) || state.provider?.has_secret === true),
    version: Number(body.version) + 1,
  } as NonNullable<typeof state.provider>;
  return respond({ provider: state.provider, redirect_uri: REDIRECT_URI });
});
addRoute("DELETE", "/oidc-provider", () => {
  state.provider = null;
  return { status: 204 };
});
addRoute("POST", "/oidc-provider/check", () =>
  respond({
    ok: true,
    failure: null,
    detail: "",
    algorithms: ["RS256", "ES256"],
    keys: 2,
    end_session: true,
  }),
);
addRoute("GET", "/me", () =>
  state.signedIn ? respond(currentUser()) : respondProblem(401, "auth.needed", "Sign in."),
);
addRoute("PATCH", "/me", ({ body }) => {
  if (body.password) state.needsPassword = false;
  return respond(currentUser());
});
addRoute("GET", "/users", () => respondList(USERS));
addRoute(
  "POST",
  "/users",
  ({ body }) =>
    proofNeeded() ??
    respond(
      {
        ...USERS[1]!,
        ...body,
        id: makeId("user", Math.random()),
        login_link: "http://127.0.0.1:8700/login#token=abcDEF0123456789",
      },
      201,
    ),
);
addRoute("PATCH", "/users/:id", ({ body }) => respond({ ...USERS[1]!, ...body }));
addRoute("GET", "/tokens", () => respondList(state.tokens));
addRoute("POST", "/tokens", ({ body }) => {
  const token: ApiToken = {
    id: makeId("token", Math.random()),
    name: String(body.name),
    prefix: "culprit_9f2c",
    role: "investigator",
    purpose: body.purpose === "events" ? "events" : null,
    expires_at: null,
    last_used_at: null,
    created_at: new Date().toISOString(),
  };
  state.tokens.push(token);
  return respond({ ...token, token: "culprit_9f2cK2n3vV8pQ0rT5yX7zB1cD4eF6gH" }, 201);
});
addRoute("DELETE", "/tokens/:id", (_, tokenId) => {
  state.tokens = state.tokens.filter((t) => t.id !== tokenId);
  return { status: 204 };
});
addRoute("GET", "/audit", () =>
  respond({
    items: Array.from({ length: 80 }, (_, i) => ({
      id: makeId("audit", i),
      seq: 900 - i,
      at: new Date(Date.UTC(2026, 10, 21, 2, 30) - i * 411_000).toISOString(),
      actor_id: null,
      actor_name: ["admin", "lena", "wei", "culprit"][i % 4],
      action: ["capture.create", "host.add", "session.open", "host.trust_key", "capture.cancel"][i % 5],
      resource_kind: ["capture", "host", "session", "host", "capture"][i % 5],
      resource_id: makeId("r", i),
      detail: i % 5 === 3 ? { from: "SHA256:abc", to: "SHA256:def", reason: "reinstalled" } : { plan: "cpu" },
      address: "10.0.0.12",
      hash: "9f",
    })),
    next: null,
    head: "9f2c",
  }),
);
addRoute("GET", "/credentials", () => respondList(state.credentials));
addRoute("POST", "/credentials", ({ body }) => {
  const credential = {
    id: makeId("cred", Math.random()),
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
  return respond(credential, 201);
});
addRoute("DELETE", "/credentials/:id", () =>
  respondProblem(409, "credential.in_use", "It is used by 166 hosts."),
);
addRoute("GET", "/network-rules", () => respondList(state.rules));
addRoute("POST", "/network-rules", ({ body }) => {
  const rule = {
    ...body,
    id: makeId("rule", Math.random()),
    created_at: new Date().toISOString(),
  } as NetworkRule;
  state.rules.push(rule);
  return respond(rule, 201);
});
addRoute("DELETE", "/network-rules/:id", (_, ruleId) => {
  state.rules = state.rules.filter((r) => r.id !== ruleId);
  return { status: 204 };
});

addRoute("GET", "/debuginfod-servers", () => respondList(state.debuginfodServers));
addRoute("POST", "/debuginfod-servers", ({ body }) => {
  const server: DebuginfodServer = {
    url: String(body.url),
    id: makeId("debuginfod", Math.random()),
    created_at: new Date().toISOString(),
  };
  state.debuginfodServers.push(server);
  return respond(server, 201);
});
addRoute("DELETE", "/debuginfod-servers/:id", (_, serverId) => {
  state.debuginfodServers = state.debuginfodServers.filter((server) => server.id !== serverId);
  return { status: 204 };
});

addRoute("GET", "/services", () => respondList(state.services));
addRoute("POST", "/services", ({ body }) => {
  const { token, ...changes } = body;
  const source = changes.source as ServiceSource;
  const service = {
    locate: null,
    ...changes,
    id: makeId("svc", Math.random()),
    has_token: Boolean(token),
    missing: source.kind === "none" ? ["rate", "errors", "latency"] : [],
    proxy: source.kind === "accepts",
    hosts: 2,
    created_at: new Date().toISOString(),
  } as unknown as T.Service;
  state.services.push(service);
  return respond(service, 201);
});
addRoute("POST", "/services/:id/check", () =>
  respond({
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
addRoute("DELETE", "/services/:id", (_, serviceId) => {
  state.services = state.services.filter((service) => service.id !== serviceId);
  return { status: 204 };
});

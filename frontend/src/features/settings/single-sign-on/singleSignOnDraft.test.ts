import { describe, expect, it } from "vitest";
import type { Provider } from "../../client/signon";
import { bodyOf, draftOf, isReady } from "./signOnDraft";

const KEPT = {
  name: "Example",
  issuer: "https://id.example",
  client_id: "culprit",
  has_secret: true,
  scopes: ["openid", "profile"],
  groups_claim: "groups",
  name_claim: "email",
  roles: [{ group: "sre", role: "oncall" }],
  otherwise: null,
  session_hours: 8,
  enabled: true,
} as unknown as Provider;

describe("the settings of an identity provider", () => {
  it("keep the secret that is there, and drop rows without a group", () => {
    const draft = { ...draftOf(KEPT), roles: [...KEPT.roles, { group: "  ", role: "admin" as const }] };
    expect(bodyOf(draft, 3)).toMatchObject({
      client_secret: null,
      public: false,
      scopes: ["profile"],
      roles: [{ group: "sre", role: "oncall" }],
      otherwise: null,
      version: 3,
    });
    expect(isReady(draft, KEPT)).toBe(true);
  });

  it("ask for the secret again where the issuer is another one", () => {
    const moved = { ...draftOf(KEPT), issuer: "https://other.example" };
    expect(isReady(moved, KEPT)).toBe(false);
    expect(isReady({ ...moved, secret: "x" }, KEPT)).toBe(true);
    expect(isReady({ ...moved, isPublic: true }, KEPT)).toBe(true);
  });

  it("never send a secret for a public client", () => {
    expect(bodyOf({ ...draftOf(null), secret: "x", isPublic: true }, 0).client_secret).toBeNull();
  });
});

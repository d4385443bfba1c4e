import { describe, expect, it } from "vitest";
import type { Provider } from "../api";
import { isSingleSignOnComplete, toSingleSignOnBody, toSingleSignOnDraft } from "./singleSignOnDraft";

const KEPT = {
  name: "Example",
  issuer: "https://id.example",
  client_id: "culprit",
  has_secret: true,
  scopes: ["openid", "profile"],
  groups_claim: "groups",
  name_claim: "email",
  roles: [{ group: "sre", role: "oncall" }],
  default_role: null,
  session_hours: 8,
  enabled: true,
} as unknown as Provider;

describe("the settings of an identity provider", () => {
  it("keep the stored secret, and drop rows without a group", () => {
    const draft = {
      ...toSingleSignOnDraft(KEPT),
      roles: [...KEPT.roles, { group: "  ", role: "admin" as const }],
    };
    expect(toSingleSignOnBody(draft, 3)).toMatchObject({
      client_secret: null,
      public: false,
      scopes: ["profile"],
      roles: [{ group: "sre", role: "oncall" }],
      default_role: null,
      version: 3,
    });
    expect(isSingleSignOnComplete(draft, KEPT)).toBe(true);
  });

  it("require the secret again when the issuer changes", () => {
    const moved = { ...toSingleSignOnDraft(KEPT), issuer: "https://other.example" };
    expect(isSingleSignOnComplete(moved, KEPT)).toBe(false);
    expect(isSingleSignOnComplete({ ...moved, secret: "x" }, KEPT)).toBe(true);
    expect(isSingleSignOnComplete({ ...moved, isPublic: true }, KEPT)).toBe(true);
  });

  it("never send a secret for a public client", () => {
    expect(
      toSingleSignOnBody({ ...toSingleSignOnDraft(null), secret: "x", isPublic: true }, 0).client_secret,
    ).toBeNull();
  });
});

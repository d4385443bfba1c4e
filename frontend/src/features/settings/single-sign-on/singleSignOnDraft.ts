import type { Role } from "../../../client/models";
import type { GroupRole, Provider } from "../api";

export interface SingleSignOnDraft {
  name: string;
  issuer: string;
  clientId: string;
  secret: string;
  isPublic: boolean;
  scopes: string[];
  groupsClaim: string;
  nameClaim: string;
  roles: GroupRole[];
  default_role: Role | "";
  hours: number | string;
  enabled: boolean;
}

export function toSingleSignOnDraft(provider: Provider | null): SingleSignOnDraft {
  return {
    name: provider?.name ?? "",
    issuer: provider?.issuer ?? "",
    clientId: provider?.client_id ?? "",
    secret: "",
    isPublic: provider !== null && !provider.has_secret,
    scopes: provider?.scopes.filter((scope) => scope !== "openid") ?? ["profile", "email"],
    groupsClaim: provider?.groups_claim ?? "groups",
    nameClaim: provider?.name_claim ?? "preferred_username",
    roles: provider?.roles ?? [{ group: "", role: "viewer" }],
    default_role: provider?.default_role ?? "",
    hours: provider?.session_hours ?? 12,
    enabled: provider?.enabled ?? true,
  };
}

/** Return the request body: without rows that have no group; an empty secret keeps the stored secret. */
export function toSingleSignOnBody(draft: SingleSignOnDraft, version: number) {
  return {
    name: draft.name.trim(),
    issuer: draft.issuer.trim(),
    client_id: draft.clientId.trim(),
    client_secret: draft.isPublic || draft.secret === "" ? null : draft.secret,
    public: draft.isPublic,
    scopes: draft.scopes,
    groups_claim: draft.groupsClaim.trim(),
    name_claim: draft.nameClaim.trim(),
    roles: draft.roles
      .map((groupRole) => ({ ...groupRole, group: groupRole.group.trim() }))
      .filter((item) => item.group !== ""),
    default_role: draft.default_role || null,
    session_hours: Number(draft.hours),
    enabled: draft.enabled,
    version,
  };
}

/** Return whether the draft can be saved. A confidential client needs a new secret when the issuer changes. */
export function isSingleSignOnComplete(draft: SingleSignOnDraft, provider: Provider | null): boolean {
  const keepsSecret = provider?.has_secret === true && provider.issuer === draft.issuer.trim();
  return (
    [draft.name, draft.issuer, draft.clientId, draft.groupsClaim, draft.nameClaim].every((item) =>
      item.trim(),
    ) &&
    (draft.isPublic || draft.secret !== "" || keepsSecret) &&
    Number(draft.hours) >= 1
  );
}

import type { GroupRole, Provider } from "../../client/signon";
import type { Role } from "../../client/types";

export interface SignOnDraft {
  name: string;
  issuer: string;
  clientId: string;
  secret: string;
  isPublic: boolean;
  scopes: string[];
  groupsClaim: string;
  nameClaim: string;
  roles: GroupRole[];
  otherwise: Role | "";
  hours: number | string;
  enabled: boolean;
}

export function draftOf(provider: Provider | null): SignOnDraft {
  return {
    name: provider?.name ?? "",
    issuer: provider?.issuer ?? "",
    clientId: provider?.client_id ?? "",
    secret: "",
    isPublic: provider !== null && !provider.has_secret,
    scopes: provider?.scopes.filter((one) => one !== "openid") ?? ["profile", "email"],
    groupsClaim: provider?.groups_claim ?? "groups",
    nameClaim: provider?.name_claim ?? "preferred_username",
    roles: provider?.roles ?? [{ group: "", role: "viewer" }],
    otherwise: provider?.otherwise ?? "",
    hours: provider?.session_hours ?? 12,
    enabled: provider?.enabled ?? true,
  };
}

/** What is sent: rows without a group are dropped, an empty secret keeps the one there is. */
export function bodyOf(draft: SignOnDraft, version: number) {
  return {
    name: draft.name.trim(),
    issuer: draft.issuer.trim(),
    client_id: draft.clientId.trim(),
    client_secret: draft.isPublic || draft.secret === "" ? null : draft.secret,
    public: draft.isPublic,
    scopes: draft.scopes,
    groups_claim: draft.groupsClaim.trim(),
    name_claim: draft.nameClaim.trim(),
    roles: draft.roles.map((one) => ({ ...one, group: one.group.trim() })).filter((one) => one.group !== ""),
    otherwise: draft.otherwise || null,
    session_hours: Number(draft.hours),
    enabled: draft.enabled,
    version,
  };
}

/** What is still missing before it can be saved. */
export function isReady(draft: SignOnDraft, provider: Provider | null): boolean {
  const kept = provider?.has_secret === true && provider.issuer === draft.issuer.trim();
  return (
    [draft.name, draft.issuer, draft.clientId, draft.groupsClaim, draft.nameClaim].every((one) =>
      one.trim(),
    ) &&
    (draft.isPublic || draft.secret !== "" || kept) &&
    Number(draft.hours) >= 1
  );
}

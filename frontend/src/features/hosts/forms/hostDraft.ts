import type { RequestBody } from "../../../client/paths";
import { labelsOf } from "../../../core/hosts/labels";
import {
  type CredentialDraft,
  EMPTY_CREDENTIAL,
  isCredentialComplete,
  toCredentialBody,
} from "./CredentialFields";

/** Fields of the form that adds a host. */
export interface HostDraft {
  name: string;
  address: string;
  port: number | string;
  username: string;
  jumpHostId: string | null;
  /** ID of a stored credential, or null for a new credential. */
  credentialId: string | null;
  credential: CredentialDraft;
  sudo: "none" | "nopasswd" | "password";
  sudoPassword: string;
  labels: string[];
}

export const EMPTY_HOST: HostDraft = {
  name: "",
  address: "",
  port: 22,
  username: "",
  jumpHostId: null,
  credentialId: null,
  credential: EMPTY_CREDENTIAL,
  sudo: "nopasswd",
  sudoPassword: "",
  labels: [],
};

/** Return whether the draft is complete, so that the host key can be fetched. */
export const canScan = (draft: HostDraft): boolean =>
  draft.name.trim() !== "" &&
  draft.address.trim() !== "" &&
  draft.username.trim() !== "" &&
  Number(draft.port) > 0 &&
  (draft.credentialId !== null || isCredentialComplete(draft.credential)) &&
  (draft.sudo !== "password" || draft.sudoPassword !== "");

/** Return the request body that adds the host, with the confirmed fingerprint of its key. */
export function toHostBody(draft: HostDraft, fingerprint: string): RequestBody<"post", "/hosts"> {
  return {
    name: draft.name.trim(),
    address: draft.address.trim(),
    port: Number(draft.port),
    username: draft.username.trim(),
    ...(draft.credentialId
      ? { credential_id: draft.credentialId }
      : { credential: toCredentialBody(draft.credential) }),
    sudo: draft.sudo,
    ...(draft.sudo === "password" ? { sudo_password: draft.sudoPassword } : {}),
    ...(draft.jumpHostId ? { jump_host_id: draft.jumpHostId } : {}),
    labels: labelsOf(draft.labels),
    host_key_fingerprint: fingerprint,
  };
}

import { Select, Textarea, TextInput } from "@mantine/core";
import { SecretField } from "../../../components/fields/SecretField";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { CredentialKind, CredentialSpec } from "../api";
import classes from "./forms.module.css";

/** Fields of the credential form; only the fields of the selected kind are sent. */
export interface CredentialDraft {
  kind: CredentialKind;
  private_key: string;
  passphrase: string;
  certificate: string;
  password: string;
  fingerprint: string;
}

export const EMPTY_CREDENTIAL: CredentialDraft = {
  kind: "generated_key",
  private_key: "",
  passphrase: "",
  certificate: "",
  password: "",
  fingerprint: "",
};

const FIELDS: Record<CredentialKind, Exclude<keyof CredentialDraft, "kind">[]> = {
  generated_key: [],
  key: ["private_key", "passphrase"],
  certificate: ["private_key", "passphrase", "certificate"],
  agent: ["fingerprint"],
  password: ["password"],
};

/** Return the request body: the non-empty fields of the kind. */
export function toCredentialBody(draft: CredentialDraft): CredentialSpec {
  const out: CredentialSpec = { kind: draft.kind };
  for (const field of FIELDS[draft.kind]) if (draft[field]) out[field] = draft[field];
  return out;
}

/** Return whether all required fields of the kind are filled in. */
export function isCredentialComplete(draft: CredentialDraft): boolean {
  if (draft.kind === "key") return draft.private_key.trim() !== "";
  if (draft.kind === "certificate") return draft.private_key.trim() !== "" && draft.certificate.trim() !== "";
  if (draft.kind === "password") return draft.password !== "";
  return true;
}

interface Props {
  draft: CredentialDraft;
  onChange: (draft: CredentialDraft) => void;
}

export function CredentialFields({ draft, onChange }: Props) {
  const { t } = useTranslation();
  const set = (patch: Partial<CredentialDraft>) => onChange({ ...draft, ...patch });
  const asks = new Set(FIELDS[draft.kind]);
  return (
    <div className={classes.stack}>
      <Select
        label={t("credential.kind")}
        description={t(`credential.about.${draft.kind}`)}
        data={(Object.keys(FIELDS) as CredentialKind[]).map((kind) => ({
          value: kind,
          label: t(`credential.kinds.${kind}`),
        }))}
        value={draft.kind}
        onChange={(kind) => set({ kind: kind as CredentialKind })}
      />
      {asks.has("private_key") && (
        <Textarea
          label={t("credential.privateKey")}
          placeholder="-----BEGIN OPENSSH PRIVATE KEY-----"
          autosize
          minRows={3}
          maxRows={8}
          spellCheck={false}
          autoComplete="off"
          classNames={{ input: "mono" }}
          value={draft.private_key}
          onChange={(event) => set({ private_key: event.currentTarget.value })}
        />
      )}
      {asks.has("passphrase") && (
        <SecretField
          label={t("credential.passphrase")}
          autoComplete="off"
          value={draft.passphrase}
          onChange={(event) => set({ passphrase: event.currentTarget.value })}
        />
      )}
      {asks.has("certificate") && (
        <Textarea
          label={t("credential.certificate")}
          placeholder="ssh-ed25519-cert-v01@openssh.com AAAA…"
          autosize
          minRows={2}
          maxRows={6}
          spellCheck={false}
          classNames={{ input: "mono" }}
          value={draft.certificate}
          onChange={(event) => set({ certificate: event.currentTarget.value })}
        />
      )}
      {asks.has("password") && (
        <SecretField
          label={t("credential.password")}
          autoComplete="new-password"
          value={draft.password}
          onChange={(event) => set({ password: event.currentTarget.value })}
        />
      )}
      {asks.has("fingerprint") && (
        <TextInput
          label={t("credential.fingerprint")}
          description={t("credential.fingerprintHint")}
          placeholder="SHA256:…"
          classNames={{ input: "mono" }}
          value={draft.fingerprint}
          onChange={(event) => set({ fingerprint: event.currentTarget.value })}
        />
      )}
    </div>
  );
}

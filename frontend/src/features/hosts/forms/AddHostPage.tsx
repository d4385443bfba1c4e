import { Button, NumberInput, SegmentedControl, Select, TagsInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { KeyRound, ScanLine } from "lucide-react";
import { useState } from "react";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { SecretField } from "../../../components/fields/SecretField";
import { ButtonLink, Link } from "../../../components/Link";
import { Page, Panel } from "../../../components/Page";
import { parseLabel } from "../../../core/hosts/labels";
import { ApiError, post } from "../../../lib/api";
import { queryKeys, useAction, useHosts, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CredentialFields } from "./CredentialFields";
import classes from "./forms.module.css";
import { canScan, EMPTY_HOST, type HostDraft, toHostBody } from "./hostDraft";
import { useCredentials } from "./useCredentials";

const NEW_CREDENTIAL = "new";

export function AddHostPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const navigate = useNavigate();
  const credentials = useCredentials();
  const hosts = useHosts({ state: "active" });
  // The call graph links unknown addresses to this page with the parameter `address`.
  const { address = "" } = useSearch({ strict: false }) as { address?: string };
  const [draft, setDraft] = useState<HostDraft>({ ...EMPTY_HOST, address });
  const scan = useMutation({
    mutationFn: () =>
      post("/host-key-scans", {
        address: draft.address.trim(),
        port: Number(draft.port),
        ...(draft.jumpHostId ? { jump_host_id: draft.jumpHostId } : {}),
      }),
  });
  const [once] = useState(() => crypto.randomUUID());
  const add = useAction(
    (fingerprint: string) => post("/hosts", toHostBody(draft, fingerprint), `${once}-${fingerprint}`),
    [queryKeys.hosts, ["credentials"]],
    (host) => void navigate({ to: "/hosts/$hostId", params: { hostId: host.id } }),
  );
  const set = (patch: Partial<HostDraft>) => {
    setDraft((before) => ({ ...before, ...patch }));
    if ("address" in patch || "port" in patch || "jumpHostId" in patch) scan.reset();
    add.reset();
  };
  const field = (name: string) => (add.error instanceof ApiError ? add.error.fields[name] : undefined);

  if (!can("host.add"))
    return (
      <Page title={t("nav.addHost")} width="form">
        <EmptyState
          title={t("addHost.notAllowed")}
          action={<ButtonLink to="/hosts">{t("nav.hosts")}</ButtonLink>}
        />
      </Page>
    );
  return (
    <Page title={t("nav.addHost")} width="form" above={<Link to="/hosts">{t("nav.hosts")}</Link>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!scan.data) scan.mutate();
        }}
      >
        <Panel>
          <div className={classes.step}>
            <h2 className={classes.stepTitle}>{t("addHost.where")}</h2>
            <TextInput
              label={t("hosts.name")}
              placeholder="feed-7"
              required
              value={draft.name}
              error={field("name")}
              onChange={(event) => set({ name: event.currentTarget.value })}
            />
            <div className={classes.fullWidth}>
              <TextInput
                label={t("hosts.address")}
                placeholder="10.40.0.11"
                required
                value={draft.address}
                error={field("address")}
                onChange={(event) => set({ address: event.currentTarget.value })}
              />
              <NumberInput
                label={t("addHost.port")}
                min={1}
                max={65535}
                required
                value={draft.port}
                error={field("port")}
                onChange={(port) => set({ port })}
              />
            </div>
            <Select
              label={t("addHost.jump")}
              description={t("addHost.jumpText")}
              data={(hosts.data ?? []).map((host) => ({ value: host.id, label: host.name }))}
              value={draft.jumpHostId}
              onChange={(jumpHostId) => set({ jumpHostId })}
              searchable
              clearable
              limit={50}
              placeholder={t("addHost.direct")}
            />
            <TagsInput
              label={t("hosts.labels")}
              description={t("addHost.labelsText")}
              placeholder={draft.labels.length === 0 ? "role=feed" : ""}
              value={draft.labels}
              error={draft.labels.some((label) => !parseLabel(label)) && t("addHost.labelBad")}
              onChange={(labels) => set({ labels })}
            />
          </div>
          <div className={classes.step}>
            <h2 className={classes.stepTitle}>{t("addHost.how")}</h2>
            <TextInput
              label={t("addHost.user")}
              placeholder="culprit"
              required
              value={draft.username}
              error={field("username")}
              autoComplete="off"
              onChange={(event) => set({ username: event.currentTarget.value })}
            />
            <Select
              label={t("addHost.credential")}
              data={[
                { value: NEW_CREDENTIAL, label: t("addHost.newCredential") },
                ...(credentials.data ?? []).map((c) => ({
                  value: c.id,
                  label: `${c.name} · ${t(`credential.kinds.${c.kind}`)}`,
                })),
              ]}
              value={draft.credentialId ?? NEW_CREDENTIAL}
              onChange={(value) => set({ credentialId: value === NEW_CREDENTIAL ? null : value })}
              searchable
            />
            {draft.credentialId === null && (
              <CredentialFields draft={draft.credential} onChange={(credential) => set({ credential })} />
            )}
            <div>
              <p className={classes.label} id="sudo-label">
                {t("addHost.sudo")}
              </p>
              <SegmentedControl
                size="xs"
                aria-labelledby="sudo-label"
                value={draft.sudo}
                onChange={(sudo) => set({ sudo: sudo as HostDraft["sudo"] })}
                data={(["nopasswd", "password", "none"] as const).map((value) => ({
                  value,
                  label: t(`addHost.sudoKinds.${value}`),
                }))}
              />
            </div>
            {draft.sudo === "password" && (
              <SecretField
                label={t("addHost.sudoPassword")}
                autoComplete="new-password"
                value={draft.sudoPassword}
                onChange={(event) => set({ sudoPassword: event.currentTarget.value })}
              />
            )}
          </div>
          <div className={classes.step}>
            <h2 className={classes.stepTitle}>{t("addHost.key")}</h2>
            <p className={classes.note}>{t("addHost.keyText")}</p>
            {!scan.data && (
              <div className={classes.buttons}>
                <Button
                  type="submit"
                  leftSection={<ScanLine size={14} />}
                  disabled={!canScan(draft)}
                  loading={scan.isPending}
                >
                  {t("addHost.scan")}
                </Button>
              </div>
            )}
            <ErrorLine error={scan.error} />
            {scan.data && (
              <div className={classes.key}>
                <div>
                  {scan.data.type} <strong className={classes.fingerprint}>{scan.data.fingerprint}</strong>
                </div>
                <p className={classes.note}>{t("addHost.compare")}</p>
                <CommandLine text={fingerprintCommand(scan.data.type)} prompt />
                <div className={classes.buttons}>
                  <Button
                    leftSection={<KeyRound size={14} />}
                    loading={add.isPending}
                    onClick={() => add.mutate(scan.data.fingerprint)}
                  >
                    {t("addHost.trustKey")}
                  </Button>
                  <Button variant="default" onClick={() => scan.reset()}>
                    {t("addHost.noMatch")}
                  </Button>
                </div>
                <ErrorLine error={add.error} />
              </div>
            )}
          </div>
        </Panel>
      </form>
    </Page>
  );
}

/** Return the shell command that prints the fingerprint of a host key type on the host. */
export function fingerprintCommand(type: string): string {
  const kind = type.includes("ed25519") ? "ed25519" : type.startsWith("ecdsa") ? "ecdsa" : "rsa";
  return `ssh-keygen -lf /etc/ssh/ssh_host_${kind}_key.pub`;
}

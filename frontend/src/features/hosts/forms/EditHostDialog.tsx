import { Button, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Host } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine } from "../../../components/EmptyState";
import { SecretField } from "../../../components/fields/SecretField";
import { labelsOf, parseLabel } from "../../../core/hosts/labels";
import { patch } from "../../../lib/api";
import { queryKeys, useAction, useHosts } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./forms.module.css";
import { useCredentials } from "./useCredentials";

/** Dialog that edits a host; it sends only changed fields. */
export function EditHostDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const { t } = useTranslation();
  const credentials = useCredentials();
  const hosts = useHosts({ state: "active" });
  const [name, setName] = useState(host.name);
  const [address, setAddress] = useState(host.address);
  const [port, setPort] = useState<number | string>(host.port);
  const [username, setUsername] = useState(host.username);
  const [credentialId, setCredentialId] = useState<string | null>(host.credential?.id ?? null);
  const [sudo, setSudo] = useState(host.sudo);
  const [sudoPassword, setSudoPassword] = useState("");
  const [jump, setJump] = useState<string | null>(host.jump_host?.id ?? null);
  const [labels, setLabels] = useState(Object.entries(host.labels).map(([key, value]) => `${key}=${value}`));
  const [silence, setSilence] = useState<number | string>(host.max_silence_s);
  const save = useAction(
    () =>
      patch(`/hosts/${host.id}`, {
        ...(name === host.name ? {} : { name }),
        ...(address === host.address ? {} : { address }),
        ...(Number(port) === host.port ? {} : { port: Number(port) }),
        ...(username === host.username ? {} : { username }),
        ...(credentialId && credentialId !== host.credential?.id ? { credential_id: credentialId } : {}),
        ...(sudo === host.sudo && !sudoPassword ? {} : { sudo }),
        ...(sudo === "password" && sudoPassword ? { sudo_password: sudoPassword } : {}),
        ...(jump === (host.jump_host?.id ?? null)
          ? {}
          : jump
            ? { jump_host_id: jump }
            : { no_jump_host: true }),
        labels: labelsOf(labels),
        ...(Number(silence) === host.max_silence_s ? {} : { max_silence_s: Number(silence) }),
      }),
    [queryKeys.hosts],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("host.editTitle", { name: host.name })} size="lg">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <TextInput
          label={t("hosts.name")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <div className={classes.fullWidth}>
          <TextInput
            label={t("hosts.address")}
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
          <NumberInput label={t("addHost.port")} min={1} max={65535} value={port} onChange={setPort} />
        </div>
        <TextInput
          label={t("addHost.user")}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <Select
          label={t("addHost.credential")}
          data={(credentials.data ?? []).map((c) => ({ value: c.id, label: c.name }))}
          value={credentialId}
          onChange={setCredentialId}
        />
        <div className={classes.row}>
          <Select
            label={t("addHost.sudo")}
            data={(["none", "nopasswd", "password"] as const).map((value) => ({
              value,
              label: t(`addHost.sudoKinds.${value}`),
            }))}
            value={sudo}
            onChange={(value) => setSudo(value as Host["sudo"])}
          />
          <NumberInput
            label={t("facts.silence")}
            description={t("host.silenceText")}
            min={10}
            max={600}
            suffix=" s"
            value={silence}
            onChange={setSilence}
          />
        </div>
        {sudo === "password" && (
          <SecretField
            label={t("addHost.sudoPassword")}
            autoComplete="new-password"
            value={sudoPassword}
            onChange={(event) => setSudoPassword(event.currentTarget.value)}
          />
        )}
        <Select
          label={t("addHost.jump")}
          data={(hosts.data ?? [])
            .filter((item) => item.id !== host.id)
            .map((host) => ({ value: host.id, label: host.name }))}
          value={jump}
          onChange={setJump}
          clearable
          searchable
          limit={50}
          placeholder={t("addHost.direct")}
        />
        <TagsInput
          label={t("hosts.labels")}
          value={labels}
          onChange={setLabels}
          error={labels.some((label) => !parseLabel(label)) && t("addHost.labelBad")}
        />
        <ErrorLine error={save.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending}>
            {t("action.save")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

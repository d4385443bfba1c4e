import { Button, Checkbox, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { SecretField } from "../../components/fields/SecretField";
import { get, post, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ChannelKind } from "./api";
import { CHANNEL_KINDS, CHANNELS } from "./api";
import classes from "./notifications.module.css";

const SECURITY = ["starttls", "tls", "none"] as const;
const EMPTY = {
  name: "",
  kind: "webhook" as ChannelKind,
  locale: "en" as "en" | "zh",
  url: "",
  token: "",
  chartLink: true,
  person: null as string | null,
  host: "",
  port: 587 as number | string,
  security: "starttls" as (typeof SECURITY)[number],
  username: "",
  password: "",
  sender: "",
  to: [] as string[],
};

/** Dialog that creates a channel. Its destination is secret, and is not displayed again. */
export function ChannelDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(EMPTY);
  const [secret, setSecret] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<typeof EMPTY>) => setDraft((before) => ({ ...before, ...some }));
  const { name, kind, locale, url, token, chartLink, person, to, port, ...mail } = draft;
  const users = useQuery({ queryKey: ["users"], queryFn: () => get("/users", { limit: 200 }) });
  const ready =
    name.trim() &&
    (kind === "email"
      ? mail.host && mail.sender && to.length > 0
      : url && (kind !== "grafana" || token.length >= 16));
  const save = useAction(async () => {
    const { host, security, username, password, sender } = mail;
    const destination =
      kind === "email"
        ? { mail: { host, port: Number(port), security, username, password, sender, to } }
        : {
            url,
            ...(kind === "slack" ? { chart_link: chartLink } : {}),
            ...(kind === "grafana" ? { secret: token } : {}),
          };
    const newChannel = await post(
      "/channels",
      { name: name.trim(), kind, locale, user_id: kind === "grafana" ? null : person, ...destination },
      once,
    );
    if (newChannel.secret) setSecret(newChannel.secret);
    else onClose();
  }, [CHANNELS]);
  if (secret)
    return (
      <Dialog onClose={onClose} title={t("channels.add")}>
        <div className={classes.newSecret} role="status">
          <p>{t("channels.secretOnce")}</p>
          <CommandLine text={secret} />
        </div>
      </Dialog>
    );
  return (
    <Dialog onClose={onClose} title={t("channels.add")} size="lg">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) save.mutate(undefined);
        }}
      >
        <div className={classes.row}>
          <TextInput
            label={t("triggers.name")}
            value={name}
            maxLength={64}
            onChange={(event) => change({ name: event.currentTarget.value })}
            data-autofocus
          />
          <Select
            label={t("triggers.kind")}
            data={CHANNEL_KINDS.map((value) => ({ value, label: t(`channels.kinds.${value}`) }))}
            value={kind}
            allowDeselect={false}
            onChange={(value) => value && change({ kind: value as ChannelKind })}
          />
          <Select
            label={t("nav.language")}
            data={[
              { value: "en", label: "English" },
              { value: "zh", label: "中文" },
            ]}
            value={locale}
            allowDeselect={false}
            onChange={(value) => value && change({ locale: value as "en" | "zh" })}
          />
        </div>
        {kind !== "grafana" && (
          <Select
            label={t("channels.person")}
            description={t("channels.personText")}
            data={users.data?.items.map((user) => ({ value: user.id, label: user.name })) ?? []}
            value={person}
            clearable
            searchable
            onChange={(value) => change({ person: value })}
          />
        )}
        {kind !== "email" && (
          <SecretField
            label={t(kind === "grafana" ? "channels.grafanaUrl" : "channels.url")}
            description={t(kind === "grafana" ? "channels.grafanaText" : "channels.urlText")}
            value={url}
            onChange={(event) => change({ url: event.currentTarget.value })}
          />
        )}
        {kind === "grafana" && (
          <SecretField
            label={t("channels.grafanaToken")}
            autoComplete="off"
            value={token}
            onChange={(event) => change({ token: event.currentTarget.value })}
          />
        )}
        {kind === "slack" && (
          <Checkbox
            label={t("channels.chartLink")}
            checked={chartLink}
            onChange={(event) => change({ chartLink: event.currentTarget.checked })}
          />
        )}
        {kind === "email" && (
          <>
            <div className={classes.row}>
              <TextInput
                label={t("channels.server")}
                value={mail.host}
                onChange={(event) => change({ host: event.currentTarget.value })}
              />
              <NumberInput
                label={t("services.port")}
                min={1}
                max={65535}
                value={port}
                onChange={(value) => change({ port: value })}
              />
              <Select
                label={t("channels.security")}
                data={SECURITY.map((value) => ({ value, label: t(`channels.securities.${value}`) }))}
                value={mail.security}
                allowDeselect={false}
                onChange={(value) => value && change({ security: value as (typeof SECURITY)[number] })}
              />
            </div>
            <div className={classes.row}>
              <TextInput
                label={t("channels.username")}
                value={mail.username}
                onChange={(event) => change({ username: event.currentTarget.value })}
              />
              <SecretField
                label={t("channels.password")}
                value={mail.password}
                onChange={(event) => change({ password: event.currentTarget.value })}
              />
            </div>
            <TextInput
              label={t("channels.sender")}
              value={mail.sender}
              onChange={(event) => change({ sender: event.currentTarget.value })}
            />
            <TagsInput label={t("channels.to")} value={to} onChange={(value) => change({ to: value })} />
          </>
        )}
        <ErrorLine error={save.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending} disabled={!ready}>
            {t("channels.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

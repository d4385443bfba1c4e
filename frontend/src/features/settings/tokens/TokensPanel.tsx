import { Button, NumberInput, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Role } from "../../../client/models";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { Panel } from "../../../components/Page";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { get, post, remove, useAction, useMe } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";
import { SettingsTable } from "../SettingsTable";

const KEY = ["tokens"];
export const ROLES: Role[] = ["viewer", "investigator", "oncall", "admin"];

export function TokensPanel() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const me = useMe();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role | null>(null);
  const [purpose, setPurpose] = useState<"all" | "events">("all");
  const [days, setDays] = useState<number | string>(90);
  const tokens = useQuery({ queryKey: KEY, queryFn: () => get("/tokens", { limit: 200 }) });
  const make = useAction(
    () =>
      post(
        "/tokens",
        {
          name,
          ...(role ? { role } : {}),
          ...(purpose === "events" ? { purpose } : {}),
          expires_in_days: days === "" ? null : Number(days),
        },
        crypto.randomUUID(),
      ),
    [KEY],
    () => setName(""),
  );
  const drop = useAction((id: string) => remove(`/tokens/${id}`), [KEY]);
  const own = me.data?.role ?? "viewer";
  return (
    <Panel flush title={t("settings.tokens.title")}>
      <p className={classes.note}>{t("settings.tokens.text")}</p>
      <form
        className={classes.line}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate(undefined);
        }}
      >
        <TextInput
          size="xs"
          label={t("hosts.name")}
          placeholder="laptop"
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          size="xs"
          label={t("settings.role")}
          data={ROLES.slice(0, ROLES.indexOf(own) + 1).map((value) => ({ value, label: t(`role.${value}`) }))}
          value={role ?? own}
          onChange={(value) => setRole(value as Role)}
        />
        <Select
          size="xs"
          label={t("settings.tokens.purpose")}
          data={(["all", "events"] as const).map((value) => ({
            value,
            label: t(`settings.tokens.purposes.${value}`),
          }))}
          value={purpose}
          onChange={(value) => setPurpose(value === "events" ? "events" : "all")}
          allowDeselect={false}
        />
        <NumberInput
          size="xs"
          label={t("settings.tokens.days")}
          min={1}
          max={3650}
          value={days}
          onChange={setDays}
          w={110}
        />
        <Button type="submit" loading={make.isPending} disabled={!name.trim()}>
          {t("settings.tokens.create")}
        </Button>
        <ErrorLine error={make.error ?? drop.error} />
      </form>
      {make.data?.token && (
        <div className={classes.newSecret} role="status">
          <p>{t("settings.tokens.once")}</p>
          <CommandLine text={make.data.token} />
        </div>
      )}
      <SettingsTable
        label={t("settings.tokens.title")}
        query={tokens}
        none={<EmptyState title={t("settings.tokens.none")} />}
        columns={[
          { head: t("hosts.name"), cell: (token) => token.name },
          { head: t("settings.tokens.prefix"), className: "mono", cell: (token) => `${token.prefix}…` },
          {
            head: t("settings.role"),
            cell: (token) =>
              token.purpose ? t(`settings.tokens.purposes.${token.purpose}`) : t(`role.${token.role}`),
          },
          { head: t("settings.tokens.used"), cell: (token) => <RelativeTime at={token.last_used_at} /> },
          {
            head: t("settings.tokens.expires"),
            className: "num",
            cell: (token) => (token.expires_at ? time.iso(token.expires_at) : t("settings.tokens.never")),
          },
        ]}
        renderActions={(token) => (
          <ConfirmDelete
            label={t("settings.tokens.revoke", { name: token.name })}
            onClick={() => drop.mutate(token.id)}
          />
        )}
      />
    </Panel>
  );
}

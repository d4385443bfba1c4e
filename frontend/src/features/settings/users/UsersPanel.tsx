import { Button, Menu, Select, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Role } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { Panel } from "../../../components/Page";
import { StatusIcon, Tag } from "../../../components/StatusIcon";
import { get, patch, post, useAction } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";
import { SettingsTable } from "../SettingsTable";
import { ROLES } from "../tokens/TokensPanel";

const KEY = ["users"];

/** Parse a label scope: `role=feed`, `role=search` becomes {role: [feed, search]}; other texts are ignored. */
export function parseLabelScope(texts: readonly string[]): Record<string, string[]> {
  const out: Record<string, string[]> = {};
  for (const text of texts) {
    const match = /^\s*([A-Za-z][\w.-]*)\s*[=:]\s*(.+?)\s*$/.exec(text);
    if (match) {
      const name = match[1] as string;
      out[name] = [...(out[name] ?? []), match[2] as string];
    }
  }
  return out;
}

interface UserChange {
  id: string;
  body: { role?: Role; disabled?: boolean; new_login_link?: true };
}

export function UsersPanel() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("investigator");
  const [scope, setScope] = useState<string[]>([]);
  const users = useQuery({ queryKey: KEY, queryFn: () => get("/users", { limit: 200 }) });
  const make = useAction(
    () =>
      post("/users", { name: name.trim(), role, label_scope: parseLabelScope(scope) }, crypto.randomUUID()),
    [KEY],
    () => setName(""),
  );
  const change = useAction(({ id, body }: UserChange) => patch(`/users/${id}`, body), [KEY]);
  const link = change.data?.login_link ?? make.data?.login_link;
  return (
    <Panel flush title={t("settings.users.title")}>
      <form
        className={classes.line}
        onSubmit={(event) => {
          event.preventDefault();
          change.reset();
          make.mutate(undefined);
        }}
      >
        <TextInput
          size="xs"
          label={t("login.name")}
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          size="xs"
          label={t("settings.role")}
          data={ROLES.map((value) => ({ value, label: t(`role.${value}`) }))}
          value={role}
          onChange={(value) => setRole(value as Role)}
        />
        <TagsInput
          size="xs"
          label={t("settings.users.scope")}
          placeholder={scope.length === 0 ? t("settings.users.allHosts") : ""}
          value={scope}
          onChange={setScope}
          miw={220}
        />
        <Button type="submit" loading={make.isPending} disabled={!name.trim()}>
          {t("settings.users.add")}
        </Button>
        <ErrorLine error={make.error ?? change.error} />
      </form>
      {link && (
        <div className={classes.newSecret} role="status">
          <p>{t("settings.users.link")}</p>
          <CommandLine text={link} />
        </div>
      )}
      <SettingsTable
        label={t("settings.users.title")}
        query={users}
        columns={[
          { head: t("login.name"), cell: (user) => user.name },
          { head: t("settings.role"), cell: (user) => t(`role.${user.role}`) },
          {
            head: t("settings.users.scope"),
            cell: (user) => (
              <>
                {Object.entries(user.label_scope).flatMap(([label, values]) =>
                  values.map((value) => (
                    <Tag key={`${label}=${value}`}>
                      {label}={value}
                    </Tag>
                  )),
                )}
                {Object.keys(user.label_scope).length === 0 && (
                  <span className="dim">{t("settings.users.allHosts")}</span>
                )}
              </>
            ),
          },
          {
            head: t("captures.state"),
            cell: (user) =>
              user.disabled_at ? (
                <StatusIcon tone="off">{t("settings.users.disabled")}</StatusIcon>
              ) : user.uses_single_sign_on ? (
                <StatusIcon tone="ok">{t("settings.users.singleSignOn")}</StatusIcon>
              ) : user.has_password ? (
                <StatusIcon tone="ok">{t("state.active")}</StatusIcon>
              ) : (
                <StatusIcon tone="idle">{t("settings.users.noPassword")}</StatusIcon>
              ),
          },
          { head: t("settings.users.since"), className: "num", cell: (user) => time.iso(user.created_at) },
        ]}
        renderActions={(user) => (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="subtle" size="compact-xs" aria-label={`${t("host.more")}: ${user.name}`}>
                {t("host.more")}
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {user.uses_single_sign_on ? (
                <Menu.Label>{t("settings.users.roleByGroup")}</Menu.Label>
              ) : (
                <>
                  <Menu.Label>{t("settings.role")}</Menu.Label>
                  {ROLES.filter((role) => role !== user.role).map((role) => (
                    <Menu.Item
                      key={role}
                      onClick={() => change.mutate({ id: user.id, body: { role: role } })}
                    >
                      {t(`role.${role}`)}
                    </Menu.Item>
                  ))}
                  <Menu.Divider />
                  <Menu.Item onClick={() => change.mutate({ id: user.id, body: { new_login_link: true } })}>
                    {t("settings.users.newLink")}
                  </Menu.Item>
                </>
              )}
              <Menu.Item
                onClick={() => change.mutate({ id: user.id, body: { disabled: !user.disabled_at } })}
              >
                {user.disabled_at ? t("settings.users.enable") : t("settings.users.disable")}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      />
    </Panel>
  );
}

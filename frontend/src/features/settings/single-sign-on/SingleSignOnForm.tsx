import { Button, Checkbox, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import type { Role } from "../../../client/models";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { ErrorLine } from "../../../components/EmptyState";
import { SecretField } from "../../../components/fields/SecretField";
import { put, useAction } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { GroupRole, Provider } from "../api";
import classes from "../Settings.module.css";
import { ROLES } from "../tokens/TokensPanel";
import {
  isSingleSignOnComplete,
  type SingleSignOnDraft,
  toSingleSignOnBody,
  toSingleSignOnDraft,
} from "./singleSignOnDraft";

/** Form with all settings of the identity provider, saved together. */
export function SingleSignOnForm({ provider }: { provider: Provider | null }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(() => toSingleSignOnDraft(provider));
  const change = (some: Partial<SingleSignOnDraft>) => setDraft((before) => ({ ...before, ...some }));
  const ready = isSingleSignOnComplete(draft, provider);
  const save = useAction(
    () => put("/oidc-provider", toSingleSignOnBody(draft, provider?.version ?? 0)),
    [["oidc-provider"]],
    () => notifications.show({ message: t("settings.signOn.saved") }),
  );
  const words = (name: "name" | "issuer" | "clientId" | "groupsClaim" | "nameClaim") => ({
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => change({ [name]: event.currentTarget.value }),
  });
  return (
    <form
      className={classes.wideForm}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) save.mutate(undefined);
      }}
    >
      <div className={classes.pair}>
        <TextInput
          label={t("hosts.name")}
          description={t("settings.signOn.nameText")}
          maxLength={64}
          required
          {...words("name")}
        />
        <TextInput
          label={t("settings.signOn.issuer")}
          description={t("settings.signOn.issuerText")}
          placeholder="https://id.example.com/realms/main"
          classNames={{ input: "mono" }}
          required
          {...words("issuer")}
        />
        <TextInput
          label={t("settings.signOn.client")}
          classNames={{ input: "mono" }}
          required
          {...words("clientId")}
        />
        <SecretField
          label={t("settings.signOn.secret")}
          placeholder={provider?.has_secret ? t("settings.signOn.secretKept") : ""}
          autoComplete="off"
          disabled={draft.isPublic}
          value={draft.secret}
          onChange={(event) => change({ secret: event.currentTarget.value })}
        />
      </div>
      <Checkbox
        label={t("settings.signOn.public")}
        checked={draft.isPublic}
        onChange={(event) => change({ isPublic: event.currentTarget.checked })}
      />
      <GroupRoleFields roles={draft.roles} change={(roles) => change({ roles })} />
      <div className={classes.pair}>
        <Select
          label={t("settings.signOn.defaultRole")}
          description={t("settings.signOn.otherwiseText")}
          allowDeselect={false}
          data={[
            { value: "", label: t("settings.signOn.refused") },
            ...ROLES.map((value) => ({ value, label: t(`role.${value}`) })),
          ]}
          value={draft.default_role}
          onChange={(value) => change({ default_role: (value ?? "") as Role | "" })}
        />
        <NumberInput
          label={t("settings.signOn.hours")}
          description={t("settings.signOn.hoursText")}
          min={1}
          max={168}
          value={draft.hours}
          onChange={(hours) => change({ hours })}
        />
        <TextInput
          label={t("settings.signOn.groupsClaim")}
          classNames={{ input: "mono" }}
          {...words("groupsClaim")}
        />
        <TextInput
          label={t("settings.signOn.nameClaim")}
          classNames={{ input: "mono" }}
          {...words("nameClaim")}
        />
        <TagsInput
          label={t("settings.signOn.scopes")}
          value={draft.scopes}
          onChange={(scopes) => change({ scopes })}
        />
      </div>
      <Checkbox
        label={t("settings.signOn.enabled")}
        checked={draft.enabled}
        onChange={(event) => change({ enabled: event.currentTarget.checked })}
      />
      <ErrorLine error={save.error} />
      <div>
        <Button type="submit" disabled={!ready} loading={save.isPending}>
          {t("action.save")}
        </Button>
      </div>
    </form>
  );
}

interface GroupProps {
  roles: readonly GroupRole[];
  change: (roles: GroupRole[]) => void;
}

/** Form fields that map groups to roles. A user with several groups gets the highest role. */
function GroupRoleFields({ roles, change }: GroupProps) {
  const { t } = useTranslation();
  const set = (at: number, some: Partial<GroupRole>) =>
    change(roles.map((groupRole, i) => (i === at ? { ...groupRole, ...some } : groupRole)));
  return (
    <fieldset className={classes.groups}>
      <legend>{t("settings.signOn.groups")}</legend>
      <p className="dim">{t("settings.signOn.groupsText")}</p>
      {roles.map((groupRole, at) => (
        <div key={at} className={classes.group}>
          <TextInput
            size="xs"
            aria-label={t("settings.signOn.group", { number: at + 1 })}
            placeholder="sre-oncall"
            classNames={{ input: "mono" }}
            value={groupRole.group}
            onChange={(event) => set(at, { group: event.currentTarget.value })}
          />
          <Select
            size="xs"
            aria-label={t("settings.signOn.roleOf", { number: at + 1 })}
            allowDeselect={false}
            data={ROLES.map((value) => ({ value, label: t(`role.${value}`) }))}
            value={groupRole.role}
            onChange={(value) => set(at, { role: value as Role })}
          />
          <ConfirmDelete
            label={t("settings.remove", {
              name: groupRole.group || t("settings.signOn.group", { number: at + 1 }),
            })}
            onClick={() => change(roles.filter((_, i) => i !== at))}
          />
        </div>
      ))}
      <div>
        <Button variant="default" size="xs" onClick={() => change([...roles, { group: "", role: "viewer" }])}>
          {t("settings.signOn.addGroup")}
        </Button>
      </div>
    </fieldset>
  );
}

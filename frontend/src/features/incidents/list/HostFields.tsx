import { CloseButton, MultiSelect, Select, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { ScopeKind } from "../../client/types";
import { SCOPE_EXAMPLES, SCOPE_KINDS, scopeFits } from "../../core/scopes";
import { useHosts } from "../../lib/queries";
import classes from "./Incidents.module.css";
import type { HostDraft } from "./incidentDraft";

const ROLES = ["suspect", "control", "dependency"] as const;

interface Props {
  hosts: readonly HostDraft[];
  onChange: (hosts: readonly HostDraft[]) => void;
  without?: readonly string[];
}

/** Hosts, and for each what on it is looked at, and as what it belongs to the incident. */
export function HostFields({ hosts, onChange, without = [] }: Props) {
  const { t } = useTranslation();
  const known = useHosts({ state: "active" }).data ?? [];
  const put = (id: string, patch: Partial<HostDraft>) =>
    onChange(hosts.map((one) => (one.id === id ? { ...one, ...patch } : one)));
  return (
    <fieldset className={classes.fieldset}>
      <legend>{t("incidents.hosts.title")}</legend>
      <MultiSelect
        aria-label={t("incidents.hosts.title")}
        placeholder={hosts.length === 0 ? t("incidents.hosts.choose") : ""}
        data={known
          .filter((one) => !without.includes(one.id))
          .map((one) => ({ value: one.id, label: one.name }))}
        value={hosts.map((one) => one.id)}
        onChange={(ids) =>
          onChange(
            ids.map(
              (id) => hosts.find((one) => one.id === id) ?? { id, kind: "host", value: "", role: "suspect" },
            ),
          )
        }
        searchable
        clearable
        limit={80}
        maxValues={50}
        hidePickedOptions
      />
      {hosts.map((one) => (
        <div key={one.id} className={classes.hostRow}>
          <span className="mono">{known.find((each) => each.id === one.id)?.name ?? "…"}</span>
          <Select
            size="xs"
            aria-label={t("diagnose.scope")}
            data={SCOPE_KINDS.map((kind) => ({ value: kind, label: t(`diagnose.scopes.${kind}`) }))}
            value={one.kind}
            onChange={(kind) => put(one.id, { kind: (kind ?? "host") as ScopeKind, value: "" })}
            allowDeselect={false}
          />
          <TextInput
            size="xs"
            aria-label={t(`diagnose.scopeValue.${one.kind}`)}
            placeholder={SCOPE_EXAMPLES[one.kind]}
            disabled={one.kind === "host"}
            value={one.value}
            onChange={(event) => put(one.id, { value: event.currentTarget.value })}
            error={one.value !== "" && !scopeFits(one.kind, one.value.trim())}
            classNames={{ input: "mono" }}
          />
          <Select
            size="xs"
            aria-label={t("incidents.hosts.roleLabel")}
            data={ROLES.map((role) => ({ value: role, label: t(`incidents.hosts.role.${role}`) }))}
            value={one.role}
            onChange={(role) => put(one.id, { role: role ?? "suspect" })}
            allowDeselect={false}
          />
          <CloseButton
            size="sm"
            aria-label={t("incidents.hosts.drop")}
            onClick={() => onChange(hosts.filter((each) => each.id !== one.id))}
          />
        </div>
      ))}
    </fieldset>
  );
}

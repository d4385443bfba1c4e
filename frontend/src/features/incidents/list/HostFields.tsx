import { CloseButton, MultiSelect, Select, TextInput } from "@mantine/core";
import type { ScopeKind } from "../../../client/models";
import { isScopeValueValid, SCOPE_EXAMPLES, SCOPE_KINDS } from "../../../core/hosts/scopes";
import { useHosts } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import type { HostDraft } from "./incidentDraft";

const ROLES = ["suspect", "control", "dependency"] as const;

interface Props {
  hosts: readonly HostDraft[];
  onChange: (hosts: readonly HostDraft[]) => void;
  excludedIds?: readonly string[];
}

/** Form fields of the hosts of an incident, each with its scope and its role. */
export function HostFields({ hosts, onChange, excludedIds = [] }: Props) {
  const { t } = useTranslation();
  const known = useHosts({ state: "active" }).data ?? [];
  const put = (id: string, patch: Partial<HostDraft>) =>
    onChange(hosts.map((hostDraft) => (hostDraft.id === id ? { ...hostDraft, ...patch } : hostDraft)));
  return (
    <fieldset className={classes.fieldset}>
      <legend>{t("incidents.hosts.title")}</legend>
      <MultiSelect
        aria-label={t("incidents.hosts.title")}
        placeholder={hosts.length === 0 ? t("incidents.hosts.choose") : ""}
        data={known
          .filter((host) => !excludedIds.includes(host.id))
          .map((host) => ({ value: host.id, label: host.name }))}
        value={hosts.map((hostDraft) => hostDraft.id)}
        onChange={(ids) =>
          onChange(
            ids.map(
              (id) =>
                hosts.find((hostDraft) => hostDraft.id === id) ?? {
                  id,
                  kind: "host",
                  value: "",
                  role: "suspect",
                },
            ),
          )
        }
        searchable
        clearable
        limit={80}
        maxValues={50}
        hidePickedOptions
      />
      {hosts.map((hostDraft) => (
        <div key={hostDraft.id} className={classes.hostRow}>
          <span className="mono">{known.find((each) => each.id === hostDraft.id)?.name ?? "…"}</span>
          <Select
            size="xs"
            aria-label={t("diagnose.scope")}
            data={SCOPE_KINDS.map((kind) => ({ value: kind, label: t(`diagnose.scopes.${kind}`) }))}
            value={hostDraft.kind}
            onChange={(kind) => put(hostDraft.id, { kind: (kind ?? "host") as ScopeKind, value: "" })}
            allowDeselect={false}
          />
          <TextInput
            size="xs"
            aria-label={t(`diagnose.scopeValue.${hostDraft.kind}`)}
            placeholder={SCOPE_EXAMPLES[hostDraft.kind]}
            disabled={hostDraft.kind === "host"}
            value={hostDraft.value}
            onChange={(event) => put(hostDraft.id, { value: event.currentTarget.value })}
            error={hostDraft.value !== "" && !isScopeValueValid(hostDraft.kind, hostDraft.value.trim())}
            classNames={{ input: "mono" }}
          />
          <Select
            size="xs"
            aria-label={t("incidents.hosts.roleLabel")}
            data={ROLES.map((role) => ({ value: role, label: t(`incidents.hosts.role.${role}`) }))}
            value={hostDraft.role}
            onChange={(role) => put(hostDraft.id, { role: role ?? "suspect" })}
            allowDeselect={false}
          />
          <CloseButton
            size="sm"
            aria-label={t("incidents.hosts.remove")}
            onClick={() => onChange(hosts.filter((each) => each.id !== hostDraft.id))}
          />
        </div>
      ))}
    </fieldset>
  );
}

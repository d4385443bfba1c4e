import { ConfirmDelete } from "../../components/ConfirmDelete";
import { EmptyState, ErrorLine, QueryContent } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { formatQuantity, NO_VALUE } from "../../core/text/format";
import { queryKeys, remove, useAction, useHosts, usePermission, useRules } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Threshold } from "./api";
import classes from "./Rules.module.css";

/** Return host names by host ID. */
export function useHostNames(): ReadonlyMap<string, string> {
  return new Map((useHosts().data ?? []).map((host) => [host.id, host.name]));
}

/** Return the target of a threshold as text: a host name, a label `name=value`, or `fleet`. */
export function overrideTarget(
  threshold: Threshold,
  hosts: ReadonlyMap<string, string>,
  fleet: string,
): string {
  if (threshold.host_id) return hosts.get(threshold.host_id) ?? threshold.host_id;
  return threshold.label_name ? `${threshold.label_name}=${threshold.label_value}` : fleet;
}

interface Props {
  query: { data: Threshold[] | undefined; error: unknown; refetch: () => unknown };
}

/** Table of changed thresholds: default, value, target and reason, with a button to restore the default. */
export function ThresholdOverrides({ query }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const names = useNames();
  const time = useTimeFormat();
  const hosts = useHostNames();
  const rules = useRules().data;
  const drop = useAction((id: string) => remove(`/thresholds/${id}`), [queryKeys.thresholds]);
  return (
    <Panel flush title={t("rules.overrides")} headerExtra={t("rules.overridesHint")}>
      <ErrorLine error={drop.error} />
      <QueryContent query={query}>
        {(items) =>
          items.length === 0 ? (
            <EmptyState title={t("rules.noOverrides")}>{t("rules.noOverridesText")}</EmptyState>
          ) : (
            <DataTable stack label={t("rules.overrides")}>
              <thead>
                <tr>
                  <th>{t("rules.rule")}</th>
                  <th className="right">{t("rules.byDefault")}</th>
                  <th className="right">{t("rules.now")}</th>
                  <th>{t("rules.whereTitle")}</th>
                  <th>{t("rules.why")}</th>
                  <th>{t("rules.since")}</th>
                  <th>
                    <span className="visually-hidden">{t("rules.reset")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((threshold) => {
                  const [rule = "", limit = ""] = threshold.name.split(".");
                  const unit = rules?.get(rule)?.thresholds.find((each) => each.name === limit)?.unit ?? "";
                  return (
                    <tr key={threshold.id}>
                      <td>
                        <Link to="/rules" search={{ rule }} title={threshold.name}>
                          {names.rule(rule)}
                        </Link>{" "}
                        <span className="mono dim">{limit}</span>
                      </td>
                      <td className="num right dim">
                        {threshold.default === null ? NO_VALUE : formatQuantity(threshold.default, unit)}
                      </td>
                      <td className="num right">
                        <strong>{formatQuantity(threshold.value, unit)}</strong>
                      </td>
                      <td>{overrideTarget(threshold, hosts, t("rules.fleet"))}</td>
                      <td className={classes.reason}>{threshold.why}</td>
                      <td className="num">{time.iso(threshold.created_at)}</td>
                      <td className="right">
                        {can("threshold.manage") && (
                          <ConfirmDelete label={t("rules.reset")} onClick={() => drop.mutate(threshold.id)} />
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </DataTable>
          )
        }
      </QueryContent>
    </Panel>
  );
}

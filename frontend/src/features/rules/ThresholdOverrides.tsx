import { useTranslation } from "react-i18next";
import type { Threshold } from "../../client/types";
import { Drop } from "../../components/Drop";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { NO_VALUE, quantity } from "../../core/format";
import { keys, remove, useAction, useHosts, useMay, useRules } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import classes from "./Rules.module.css";

/** Hosts by id, for places that name one. */
export function useHostNames(): ReadonlyMap<string, string> {
  return new Map((useHosts().data ?? []).map((one) => [one.id, one.name]));
}

/** Where a threshold holds, in words. */
export function placeOf(one: Threshold, hosts: ReadonlyMap<string, string>, fleet: string): string {
  if (one.host_id) return hosts.get(one.host_id) ?? one.host_id;
  return one.label_name ? `${one.label_name}=${one.label_value}` : fleet;
}

interface Props {
  query: { data: Threshold[] | undefined; error: unknown; refetch: () => unknown };
}

/** Every threshold that somebody set: by how much, where, why, and the way back. */
export function Overrides({ query }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const names = useNames();
  const time = useTimeFormat();
  const hosts = useHostNames();
  const rules = useRules().data;
  const drop = useAction((id: string) => remove(`/thresholds/${id}`), [keys.thresholds]);
  return (
    <Panel flush title={t("rules.overrides")} aside={t("rules.overridesAside")}>
      <ErrorLine error={drop.error} />
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <Empty title={t("rules.noOverrides")}>{t("rules.noOverridesText")}</Empty>
          ) : (
            <Grid stack label={t("rules.overrides")}>
              <thead>
                <tr>
                  <th>{t("rules.rule")}</th>
                  <th className="right">{t("rules.byDefault")}</th>
                  <th className="right">{t("rules.now")}</th>
                  <th>{t("rules.whereTitle")}</th>
                  <th>{t("rules.why")}</th>
                  <th>{t("rules.since")}</th>
                  <th>
                    <span className="visually-hidden">{t("rules.takeBack")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((one) => {
                  const [rule = "", limit = ""] = one.name.split(".");
                  const unit = rules?.get(rule)?.limits.find((each) => each.name === limit)?.unit ?? "";
                  return (
                    <tr key={one.id}>
                      <td>
                        <Link to="/rules" search={{ rule } as never} title={one.name}>
                          {names.rule(rule)}
                        </Link>{" "}
                        <span className="mono dim">{limit}</span>
                      </td>
                      <td className="num right dim">
                        {one.default === null ? NO_VALUE : quantity(one.default, unit)}
                      </td>
                      <td className="num right">
                        <strong>{quantity(one.value, unit)}</strong>
                      </td>
                      <td>{placeOf(one, hosts, t("rules.fleet"))}</td>
                      <td className={classes.why}>{one.why}</td>
                      <td className="num">{time.iso(one.created_at)}</td>
                      <td className="right">
                        {may("threshold.manage") && (
                          <Drop label={t("rules.takeBack")} onClick={() => drop.mutate(one.id)} />
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </Grid>
          )
        }
      </Loaded>
    </Panel>
  );
}

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Difference, Named } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { Empty } from "../../components/States";
import { NO_VALUE, number, percent, quantity } from "../../core/format";
import { useMetrics } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Diagnoses.module.css";

const SHOWN_TWINS = 3;
type Value = Difference["here"];

/** A setting as the server names it, `table[row].column`, in words where they are known. */
function Setting({ name }: { name: string }) {
  const { t } = useTranslation();
  const [, table = "", at = "", column = ""] = /^(\w+)\[(.*)\]\.(\w+)$/.exec(name) ?? [];
  const what = t(`differences.setting.${column}` as "differences.setting.mtu", { defaultValue: "" });
  const where = t(`differences.settingOf.${table}` as "differences.settingOf.links", {
    at,
    defaultValue: "",
  });
  if (!what || !where) return <span className="mono">{name}</span>;
  return (
    <>
      {what} <span className="dim">{where}</span>
    </>
  );
}

/** In what this host is unlike healthy ones that were looked at in the same seconds, the most surprising first. */
export function Differences({ items, twins }: { items: readonly Difference[]; twins: readonly Named[] }) {
  const { t } = useTranslation();
  const names = useNames();
  const metrics = useMetrics().data;
  const nameOf = ({ kind, name }: Difference): ReactNode => {
    if (kind === "setting") return <Setting name={name} />;
    if (kind !== "metric") return <span className="mono">{name}</span>;
    const [id = name, labels = ""] = name.split("{");
    const where = labels.replace(/}$/, "");
    return where ? `${names.metric(id)} (${where})` : names.metric(id);
  };
  const text = (one: Difference, value: Value | undefined): string => {
    if (value === null || value === undefined) return NO_VALUE;
    if (typeof value !== "number") return String(value);
    if (one.kind === "stack") return quantity(value, "pct");
    const unit =
      one.kind === "metric"
        ? metrics?.find((m) => m.id === one.name.split("{")[0])?.unit
        : /_kb$/.exec(one.name)?.[0].slice(1);
    return unit ? quantity(value, unit) : number(value);
  };
  return (
    <Panel flush title={t("differences.title", { count: twins.length })} aside={t("differences.aside")}>
      {items.length === 0 ? (
        <Empty title={t("differences.none")} />
      ) : (
        <Grid stack label={t("differences.title", { count: twins.length })} maxHeight={520}>
          <thead>
            <tr>
              <th>{t("differences.surprise")}</th>
              <th className={classes.kind}>{t("differences.kind")}</th>
              <th>{t("differences.what")}</th>
              <th className="right">{t("differences.here")}</th>
              <th>{t("differences.there")}</th>
            </tr>
          </thead>
          <tbody>
            {items.map((one) => {
              const there = Object.entries(one.there);
              return (
                <tr key={`${one.kind}${one.name}`}>
                  <td>
                    <span className={classes.surprise}>
                      <span style={{ width: `${Math.round(one.surprise * 100)}%` }} />
                    </span>
                    <span className="num dim"> {percent(one.surprise)}</span>
                  </td>
                  <td className={classes.kind}>{t(`differences.kinds.${one.kind}`)}</td>
                  <td className={classes.differs} title={one.name}>
                    {nameOf(one)}
                  </td>
                  <td className={`num right ${classes.here}`}>{text(one, one.here)}</td>
                  <td
                    className={classes.there}
                    title={there.map(([n, v]) => `${n}: ${text(one, v)}`).join("\n")}
                  >
                    {there.slice(0, SHOWN_TWINS).map(([name, value]) => (
                      <span key={name}>
                        <span className="dim">{name}</span> <span className="num">{text(one, value)}</span>
                      </span>
                    ))}
                    {there.length > SHOWN_TWINS && (
                      <span className="dim">{t("captures.more", { count: there.length - SHOWN_TWINS })}</span>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </Grid>
      )}
    </Panel>
  );
}

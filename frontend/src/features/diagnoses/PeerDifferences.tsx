import type { ReactNode } from "react";
import type { HostRef, PeerDifference } from "../../client/models";
import { EmptyState } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { formatNumber, formatPercent, formatQuantity, NO_VALUE } from "../../core/text/format";
import { useMetrics } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Diagnoses.module.css";

const MAX_PEERS = 3;
type Value = PeerDifference["local"];

/** Display name of a setting `table[row].column`; an unknown setting keeps the server's name. */
function SettingName({ name }: { name: string }) {
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

/** Table of differences from healthy peers that were captured at the same time, highest surprise score first. */
export function PeerDifferences({
  items,
  peers,
}: {
  items: readonly PeerDifference[];
  peers: readonly HostRef[];
}) {
  const { t } = useTranslation();
  const names = useNames();
  const metrics = useMetrics().data;
  const nameOf = ({ kind, name }: PeerDifference): ReactNode => {
    if (kind === "setting") return <SettingName name={name} />;
    if (kind !== "metric") return <span className="mono">{name}</span>;
    const [id = name, labels = ""] = name.split("{");
    const where = labels.replace(/}$/, "");
    return where ? `${names.metric(id)} (${where})` : names.metric(id);
  };
  const text = (difference: PeerDifference, value: Value | undefined): string => {
    if (value === null || value === undefined) return NO_VALUE;
    if (typeof value !== "number") return String(value);
    if (difference.kind === "stack") return formatQuantity(value, "pct");
    const unit =
      difference.kind === "metric"
        ? metrics?.find((m) => m.id === difference.name.split("{")[0])?.unit
        : /_kb$/.exec(difference.name)?.[0].slice(1);
    return unit ? formatQuantity(value, unit) : formatNumber(value);
  };
  return (
    <Panel flush title={t("differences.title", { count: peers.length })} headerExtra={t("differences.order")}>
      {items.length === 0 ? (
        <EmptyState title={t("differences.none")} />
      ) : (
        <DataTable stack label={t("differences.title", { count: peers.length })} maxHeight={520}>
          <thead>
            <tr>
              <th>{t("differences.surprise")}</th>
              <th className={classes.kind}>{t("differences.kind")}</th>
              <th>{t("differences.what")}</th>
              <th className="right">{t("differences.local")}</th>
              <th>{t("differences.peers")}</th>
            </tr>
          </thead>
          <tbody>
            {items.map((difference) => {
              const peers = Object.entries(difference.peers);
              return (
                <tr key={`${difference.kind}${difference.name}`}>
                  <td>
                    <span className={classes.surprise}>
                      <span style={{ width: `${Math.round(difference.surprise_score * 100)}%` }} />
                    </span>
                    <span className="num dim"> {formatPercent(difference.surprise_score)}</span>
                  </td>
                  <td className={classes.kind}>{t(`differences.kinds.${difference.kind}`)}</td>
                  <td className={classes.differenceName} title={difference.name}>
                    {nameOf(difference)}
                  </td>
                  <td className={`num right ${classes.localValue}`}>{text(difference, difference.local)}</td>
                  <td
                    className={classes.peerValues}
                    title={peers.map(([n, v]) => `${n}: ${text(difference, v)}`).join("\n")}
                  >
                    {peers.slice(0, MAX_PEERS).map(([name, value]) => (
                      <span key={name}>
                        <span className="dim">{name}</span>{" "}
                        <span className="num">{text(difference, value)}</span>
                      </span>
                    ))}
                    {peers.length > MAX_PEERS && (
                      <span className="dim">{t("captures.more", { count: peers.length - MAX_PEERS })}</span>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </DataTable>
      )}
    </Panel>
  );
}

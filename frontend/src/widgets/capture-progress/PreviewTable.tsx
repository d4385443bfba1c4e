import { Tooltip } from "@mantine/core";
import type { Host, Preview } from "../../client/models";
import { chooseTone, StatusIcon, TierTag } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RemedyHint } from "../../components/text/RemedyHint";
import { formatBytes, formatNumber } from "../../core/text/format";
import { useCollectors } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./PreviewTable.module.css";

/** Return the cost of a capture on a host: percent of a core while all collectors run, and bytes with symbols. */
export function expectedCost(preview: Preview): { cpu_pct: number; bytes: number } {
  let cpu = 0;
  let size = preview.symbols?.bytes ?? 0;
  for (const collector of preview.collectors) {
    cpu += collector.cost.cpu_pct;
    size += collector.cost.bytes_per_s * collector.seconds;
  }
  return { cpu_pct: cpu, bytes: size };
}

const STATES = ["works", "degrades", "unavailable", "unknown"] as const;

/** Render the commands of a capture with their cost and their readiness on each host. */
export function PreviewTable({ preview, hosts }: { preview: Preview; hosts: readonly Host[] }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const about = useCollectors();
  const names = new Map(hosts.map((host) => [host.id, host.name]));
  return (
    <>
      <DataTable stack label={t("newCapture.preview")} maxHeight="44vh">
        <thead>
          <tr>
            <th>{t("preflight.collector")}</th>
            <th>{t("newCapture.tier")}</th>
            <th className="right">{t("newCapture.seconds")}</th>
            <th>{t("newCapture.command")}</th>
            <th className="right">{t("newCapture.costOf")}</th>
            <th>{t("newCapture.onHosts")}</th>
          </tr>
        </thead>
        <tbody>
          {preview.collectors.map((collector) => {
            const info = about.data?.find((c) => c.id === collector.id);
            return (
              <tr key={collector.id}>
                <td>
                  <span title={localize(info?.why)}>{localize(info?.title) || collector.id}</span>
                  {collector.why && <div className={classes.note}>{formatMessage(collector.why)}</div>}
                </td>
                <td>
                  <TierTag tier={collector.tier} />
                </td>
                <td className="num right">{collector.seconds}</td>
                <td className={classes.command}>
                  {collector.commands.map((command) => (
                    <div key={command}>{command}</div>
                  ))}
                  {localize(collector.cost.note) && (
                    <div className={classes.note}>{localize(collector.cost.note)}</div>
                  )}
                </td>
                <td className="num right">
                  {formatNumber(collector.cost.cpu_pct)} %
                  <div className="dim">{formatBytes(collector.cost.bytes_per_s * collector.seconds)}</div>
                </td>
                <td>
                  {STATES.map((state) => {
                    const matches = collector.hosts.filter((host) => host.state === state);
                    if (matches.length === 0) return null;
                    const reasons = matches.filter((host) => host.reason || host.remedy).slice(0, 6);
                    const mark = (
                      <StatusIcon tone={chooseTone(state)}>
                        {collector.hosts.length === 1
                          ? t(`state.${state}`)
                          : `${matches.length} ${t(`state.${state}`)}`}
                      </StatusIcon>
                    );
                    return (
                      <div key={state}>
                        {reasons.length === 0 ? (
                          mark
                        ) : (
                          <Tooltip
                            label={reasons.map((host) => (
                              <div key={host.host_id}>
                                {names.get(host.host_id)}: {formatMessage(host.reason)}
                              </div>
                            ))}
                          >
                            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: its reasons must be readable by keyboard */}
                            <span tabIndex={0}>{mark}</span>
                          </Tooltip>
                        )}
                        {collector.hosts.length === 1 && reasons[0] && (
                          <div className={classes.reasonText}>
                            {formatMessage(reasons[0].reason)}
                            <RemedyHint remedy={reasons[0].remedy} />
                          </div>
                        )}
                      </div>
                    );
                  })}
                </td>
              </tr>
            );
          })}
        </tbody>
      </DataTable>
      {preview.symbols && <p className={classes.note}>{formatMessage(preview.symbols.text)}</p>}
    </>
  );
}

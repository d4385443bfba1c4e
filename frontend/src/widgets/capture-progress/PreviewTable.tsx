import { Tooltip } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Host, Preview } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Mark, TierTag, toneOf } from "../../components/Mark";
import { Mend } from "../../components/Mend";
import { bytes, number } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useCollectors } from "../../lib/queries";
import classes from "./PreviewTable.module.css";

/** What one capture costs a host: percent of one core while all run, and bytes over their durations. */
export function expectedCost(preview: Preview): { cpu_pct: number; bytes: number } {
  let cpu = 0;
  let size = 0;
  for (const one of preview.collectors) {
    cpu += one.cost.cpu_pct;
    size += one.cost.bytes_per_s * one.seconds;
  }
  return { cpu_pct: cpu, bytes: size };
}

const STATES = ["works", "degrades", "does_not_work", "unknown"] as const;

/** Every command that will run, what it costs, and where it will not work. */
export function PreviewTable({ preview, hosts }: { preview: Preview; hosts: readonly Host[] }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const about = useCollectors();
  const names = new Map(hosts.map((host) => [host.id, host.name]));
  return (
    <Grid stack label={t("newCapture.preview")} maxHeight="44vh">
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
        {preview.collectors.map((one) => {
          const info = about.data?.find((c) => c.id === one.id);
          return (
            <tr key={one.id}>
              <td>
                <span title={pick(info?.why)}>{pick(info?.title) || one.id}</span>
                {one.why && <div className={classes.note}>{sentence(one.why)}</div>}
              </td>
              <td>
                <TierTag tier={one.tier} />
              </td>
              <td className="num right">{one.seconds}</td>
              <td className={classes.command}>
                {one.commands.map((command) => (
                  <div key={command}>{command}</div>
                ))}
                {pick(one.cost.note) && <div className={classes.note}>{pick(one.cost.note)}</div>}
              </td>
              <td className="num right">
                {number(one.cost.cpu_pct)} %
                <div className="dim">{bytes(one.cost.bytes_per_s * one.seconds)}</div>
              </td>
              <td>
                {STATES.map((state) => {
                  const there = one.hosts.filter((host) => host.state === state);
                  if (there.length === 0) return null;
                  const reasons = there.filter((host) => host.reason || host.mend).slice(0, 6);
                  const mark = (
                    <Mark tone={toneOf(state)}>
                      {one.hosts.length === 1
                        ? t(`state.${state}`)
                        : `${there.length} ${t(`state.${state}`)}`}
                    </Mark>
                  );
                  return (
                    <div key={state}>
                      {reasons.length === 0 ? (
                        mark
                      ) : (
                        <Tooltip
                          label={reasons.map((host) => (
                            <div key={host.host_id}>
                              {names.get(host.host_id)}: {sentence(host.reason)}
                            </div>
                          ))}
                        >
                          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: its reasons must be readable by keyboard */}
                          <span tabIndex={0}>{mark}</span>
                        </Tooltip>
                      )}
                      {one.hosts.length === 1 && reasons[0] && (
                        <div className={classes.reasonText}>
                          {sentence(reasons[0].reason)}
                          <Mend mend={reasons[0].mend} />
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
    </Grid>
  );
}

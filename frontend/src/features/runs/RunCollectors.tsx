import type { Run, RunCollector } from "../../client/models";
import { RunStateIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { formatBytes, formatMilliseconds, formatSeconds } from "../../core/text/format";
import { useCollectors } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Run.module.css";

/** Table of collectors: state, duration, size, cost, exact command, and the reason for missing data. */
export function RunCollectors({ run }: { run: Run }) {
  const { t } = useTranslation();
  const catalog = new Map((useCollectors().data ?? []).map((c) => [c.id, c]));
  const localize = useLocalized();
  return (
    <DataTable stack label={t("run.collectors")}>
      <thead>
        <tr>
          <th>{t("run.collector")}</th>
          <th>{t("run.state")}</th>
          <th className="right">{t("run.duration")}</th>
          <th className="right">{t("run.bytes")}</th>
          <th className="right">{t("run.cost")}</th>
          <th>{t("run.what")}</th>
        </tr>
      </thead>
      <tbody>
        {run.collectors.map((c) => (
          <tr key={c.id}>
            <td>
              <span title={localize(catalog.get(c.id)?.why)}>
                {localize(catalog.get(c.id)?.title) || c.id}
              </span>
              {localize(catalog.get(c.id)?.title) && localize(catalog.get(c.id)?.title) !== c.id && (
                <div className="mono dim">{c.id}</div>
              )}
            </td>
            <td>
              <RunStateIcon state={c.state} />
            </td>
            <td className="right num">{formatSeconds(c.seconds)}</td>
            <td className="right num">{formatBytes(c.bytes)}</td>
            <td className="right num">{formatMilliseconds(c.cpu_ms)}</td>
            <td className={classes.detail}>
              <CollectorMethod collector={c} run={run} />
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

function CollectorMethod({ collector, run }: { collector: RunCollector; run: Run }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const warnings = (run.warnings ?? []).filter((item) => item.collector === collector.id);
  const details = [
    ...(collector.tool_version ? [collector.tool_version] : []),
    ...(collector.exit_code ? [t("run.exit", { code: collector.exit_code })] : []),
  ];
  return (
    <>
      {collector.reason && <div>{formatMessage(collector.reason)}</div>}
      {warnings.map((item, i) => (
        <div key={i} className={classes.warning}>
          {formatMessage(item.warning)}
        </div>
      ))}
      {collector.argv && <code className={classes.argv}>{collector.argv}</code>}
      {details.length > 0 && <div className="dim">{details.join(" · ")}</div>}
      {collector.stderr_tail && collector.state !== "done" && (
        <pre className={classes.stderr}>{collector.stderr_tail}</pre>
      )}
    </>
  );
}

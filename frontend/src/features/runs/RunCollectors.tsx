import { useTranslation } from "react-i18next";
import type { Run, RunCollector } from "../../client/types";
import { Grid } from "../../components/Grid";
import { StateMark } from "../../components/Mark";
import { bytes, milliseconds, seconds } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useCollectors } from "../../lib/queries";
import classes from "./Run.module.css";

/** What became of each collector, with its exact command, and the reason where it brought nothing. */
export function Collectors({ run }: { run: Run }) {
  const { t } = useTranslation();
  const catalogue = new Map((useCollectors().data ?? []).map((c) => [c.id, c]));
  const pick = usePick();
  return (
    <Grid stack label={t("run.collectors")}>
      <thead>
        <tr>
          <th>{t("run.collector")}</th>
          <th>{t("run.state")}</th>
          <th className="right">{t("run.took")}</th>
          <th className="right">{t("run.bytes")}</th>
          <th className="right">{t("run.cost")}</th>
          <th>{t("run.what")}</th>
        </tr>
      </thead>
      <tbody>
        {run.collectors.map((c) => (
          <tr key={c.id}>
            <td>
              <span title={pick(catalogue.get(c.id)?.why)}>{pick(catalogue.get(c.id)?.title) || c.id}</span>
              {pick(catalogue.get(c.id)?.title) && pick(catalogue.get(c.id)?.title) !== c.id && (
                <div className="mono dim">{c.id}</div>
              )}
            </td>
            <td>
              <StateMark state={c.state} />
            </td>
            <td className="right num">{seconds(c.seconds)}</td>
            <td className="right num">{bytes(c.bytes)}</td>
            <td className="right num">{milliseconds(c.cpu_ms)}</td>
            <td className={classes.what}>
              <What collector={c} run={run} />
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

function What({ collector, run }: { collector: RunCollector; run: Run }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const warnings = (run.warnings ?? []).filter((item) => item.collector === collector.id);
  return (
    <>
      {collector.reason && <div>{sentence(collector.reason)}</div>}
      {warnings.map((item, i) => (
        <div key={i} className={classes.warning}>
          {sentence(item.warning)}
        </div>
      ))}
      {collector.argv && <code className={classes.argv}>{collector.argv}</code>}
      {(collector.tool_version || (collector.exit_code ?? 0) !== 0) && (
        <div className="dim">
          {collector.tool_version}
          {(collector.exit_code ?? 0) !== 0 && ` · ${t("run.exit", { code: collector.exit_code })}`}
        </div>
      )}
      {collector.stderr_tail && collector.state !== "done" && (
        <pre className={classes.stderr}>{collector.stderr_tail}</pre>
      )}
    </>
  );
}

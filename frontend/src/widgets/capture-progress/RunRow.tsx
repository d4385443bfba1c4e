import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type CSSProperties, useState } from "react";
import type { CollectorSummary, RunCollector, RunSummary } from "../../client/models";
import { CommandLine } from "../../components/fields/CopyButton";
import { Link } from "../../components/Link";
import { chooseTone, RunStateIcon, StatusIcon } from "../../components/StatusIcon";
import type { ProgressBar } from "../../core/charts/live";
import { cx } from "../../core/cx";
import { formatBytes, formatMilliseconds, formatSeconds } from "../../core/text/format";
import { isActive, useCollectors, useRun } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./RunBars.module.css";

interface Props {
  run: RunSummary;
  bars: readonly ProgressBar[];
  /** Length of the time axis in seconds. */
  total: number;
  now: number | undefined;
  dense: boolean;
}

const TROUBLE = new Set(["skipped", "failed", "timed_out", "unreadable"]);

/** Render a run of a capture: one bar per collector on the shared time axis, with the state of each. */
export function RunRow({ run, bars, total, now, dense }: Props) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const [open, setOpen] = useState(!dense);
  const trouble = run.collectors.filter((collector) => TROUBLE.has(collector.state));
  const left = (at: number) => `${(Math.min(at, total) / total) * 100}%`;
  return (
    <div className={classes.run}>
      <div className={classes.hostName}>
        <UnstyledButton
          className={classes.fold}
          onClick={() => setOpen(!open)}
          aria-expanded={open}
          aria-label={t("captures.details", { name: run.host?.name ?? "" })}
        >
          {open ? <ChevronDown size={14} /> : <ChevronRight size={14} />}
        </UnstyledButton>
        <div className={classes.name}>
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            {run.host?.name ?? t("captures.noHost")}
          </Link>
          {run.attempt > 1 && <span className="dim"> {t("captures.attempt", { n: run.attempt })}</span>}
          {run.failure && <div className={classes.failure}>{formatMessage(run.failure)}</div>}
          {!run.failure && run.waiting && <div className="dim">{formatMessage(run.waiting)}</div>}
        </div>
      </div>
      {open ? (
        <span />
      ) : (
        <div className={classes.bars} style={{ "--n": run.collectors.length } as CSSProperties}>
          {now !== undefined && <span className={classes.currentTime} style={{ left: left(now) }} />}
          {run.collectors.map((collector, i) => (
            <CollectorBar
              key={collector.id}
              collector={collector}
              bar={bars.find((bar) => bar.id === collector.id)}
              total={total}
              top={i}
            />
          ))}
        </div>
      )}
      <div className={classes.outcome}>
        <RunStateIcon state={run.state} />
        <span className="num">{formatBytes(run.bytes)}</span>
        <span className="num dim" title={t("captures.cpu")}>
          {run.host_cpu_ms === null ? "" : `CPU ${formatMilliseconds(run.host_cpu_ms)}`}
        </span>
        {trouble.length > 0 && !open && (
          <StatusIcon tone="warn">{t("captures.failedRuns", { count: trouble.length })}</StatusIcon>
        )}
      </div>
      {open && <Detail run={run} bars={bars} total={total} now={now} />}
    </div>
  );
}

/** Return the length of a bar, in whole seconds so that the text does not flicker. */
const elapsedText = (bar: ProgressBar | undefined): string =>
  bar ? formatSeconds(Math.floor(bar.to - bar.from)) : "";

function CollectorBar({
  collector,
  bar,
  total,
  top,
}: {
  collector: CollectorSummary;
  bar: ProgressBar | undefined;
  total: number;
  top?: number;
}) {
  if (!bar) return null;
  const percent = (at: number) => `${(Math.min(at, total) / total) * 100}%`;
  const at: CSSProperties = top === undefined ? {} : { top: `calc(${top} * var(--bar) + 2px)` };
  return (
    <>
      {bar.planned !== undefined && (
        <span
          className={classes.planned}
          style={{ ...at, left: percent(bar.from), width: percent(bar.planned - bar.from) }}
        />
      )}
      <span
        className={cx(classes.done, classes[`tone_${chooseTone(collector.state)}`])}
        style={{ ...at, left: percent(bar.from), width: `max(2px, ${percent(bar.to - bar.from)})` }}
      />
    </>
  );
}

function Detail({ run, bars, total, now }: Omit<Props, "dense">) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const about = useCollectors();
  return (
    <>
      {run.collectors.map((collector) => (
        <div key={collector.id} className={classes.collector}>
          <span className={classes.collectorName} title={collector.id}>
            {localize(about.data?.find((info) => info.id === collector.id)?.title) || collector.id}
          </span>
          <span className={classes.track}>
            {now !== undefined && (
              <span
                className={classes.currentTime}
                style={{ left: `${(Math.min(now, total) / total) * 100}%` }}
              />
            )}
            <CollectorBar
              collector={collector}
              bar={bars.find((bar) => bar.id === collector.id)}
              total={total}
            />
          </span>
          <span className={classes.collectorState}>
            <RunStateIcon state={collector.state} />
            <span className="num dim">
              {collector.state === "running" && collector.progress
                ? `${elapsedText(bars.find((bar) => bar.id === collector.id))} / ${formatSeconds(collector.progress.planned_ms / 1000)}`
                : collector.bytes
                  ? formatBytes(collector.bytes)
                  : ""}
            </span>
          </span>
          {TROUBLE.has(collector.state) && <RunProblem run={run} collector={collector} />}
        </div>
      ))}
      {run.collectors.length === 0 && <span className="dim">{t("captures.nothingYet")}</span>}
    </>
  );
}

/** Optional fields of a collector in a live update. */
type Details = Partial<Pick<RunCollector, "exit_code" | "stderr_tail">>;

/** Explain why a collector stored nothing: the reason, exit status, remedy, and last lines of stderr. */
function RunProblem({ run, collector }: { run: RunSummary; collector: CollectorSummary & Details }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const needsDetail = collector.state === "failed" && !isActive(run.state);
  const detail = useRun(needsDetail ? run.id : "").data?.collectors.find((item) => item.id === collector.id);
  const exit = detail?.exit_code ?? collector.exit_code;
  const tail = detail?.stderr_tail ?? collector.stderr_tail;
  const remedy = collector.reason?.params?.remedy;
  return (
    <div className={classes.problem}>
      {collector.reason && <span>{formatMessage(collector.reason)}</span>}
      {exit !== undefined && exit !== null && exit !== 0 && (
        <span className="num">{t("captures.exit", { exit })}</span>
      )}
      {typeof remedy === "string" && remedy && <CommandLine text={remedy} />}
      {tail && <pre className={classes.stderrTail}>{tail}</pre>}
    </div>
  );
}

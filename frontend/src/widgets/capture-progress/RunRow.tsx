import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type CSSProperties, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunCollector, RunSummary } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark, StateMark, toneOf } from "../../components/Mark";
import { Mend } from "../../components/Mend";
import { cx } from "../../core/cx";
import { bytes, milliseconds, seconds } from "../../core/format";
import type { Bar } from "../../core/live";
import { usePick, useSentence } from "../../lib/i18n";
import { isActive, useCollectors, useRun } from "../../lib/queries";
import classes from "./RunBars.module.css";

interface Props {
  run: RunSummary;
  bars: readonly Bar[];
  /** Seconds that the axis spans. */
  total: number;
  now: number | undefined;
  dense: boolean;
}

const TROUBLE = new Set(["skipped", "failed", "timed_out", "unreadable"]);

/** One host of a capture: one bar per collector on the shared axis, and what became of each. */
export function RunRow({ run, bars, total, now, dense }: Props) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const [open, setOpen] = useState(!dense);
  const trouble = run.collectors.filter((one) => TROUBLE.has(one.state));
  const left = (at: number) => `${(Math.min(at, total) / total) * 100}%`;
  return (
    <div className={classes.run}>
      <div className={classes.who}>
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
          {run.failure && <div className={classes.failure}>{sentence(run.failure)}</div>}
          {!run.failure && run.waiting && <div className="dim">{sentence(run.waiting)}</div>}
        </div>
      </div>
      {open ? (
        <span />
      ) : (
        <div className={classes.bars} style={{ "--n": run.collectors.length } as CSSProperties}>
          {now !== undefined && <span className={classes.now} style={{ left: left(now) }} />}
          {run.collectors.map((one, i) => (
            <BarOf
              key={one.id}
              collector={one}
              bar={bars.find((bar) => bar.id === one.id)}
              total={total}
              top={i}
            />
          ))}
        </div>
      )}
      <div className={classes.outcome}>
        <StateMark state={run.state} />
        <span className="num">{bytes(run.bytes)}</span>
        <span className="num dim" title={t("captures.cpu")}>
          {run.host_cpu_ms === null ? "" : `CPU ${milliseconds(run.host_cpu_ms)}`}
        </span>
        {trouble.length > 0 && !open && (
          <Mark tone="warn">{t("captures.notAll", { count: trouble.length })}</Mark>
        )}
      </div>
      {open && <Detail run={run} bars={bars} total={total} now={now} />}
    </div>
  );
}

/** How long a bar has been going: whole seconds, so that it does not flicker. */
const goneOf = (bar: Bar | undefined): string => (bar ? seconds(Math.floor(bar.to - bar.from)) : "");

function BarOf({
  collector,
  bar,
  total,
  top,
}: {
  collector: RunCollector;
  bar: Bar | undefined;
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
        className={cx(classes.done, classes[`tone_${toneOf(collector.state)}`])}
        style={{ ...at, left: percent(bar.from), width: `max(2px, ${percent(bar.to - bar.from)})` }}
      />
    </>
  );
}

function Detail({ run, bars, total, now }: Omit<Props, "dense">) {
  const { t } = useTranslation();
  const pick = usePick();
  const about = useCollectors();
  return (
    <>
      {run.collectors.map((one) => (
        <div key={one.id} className={classes.collector}>
          <span className={classes.collectorName} title={one.id}>
            {pick(about.data?.find((info) => info.id === one.id)?.title) || one.id}
          </span>
          <span className={classes.track}>
            {now !== undefined && (
              <span className={classes.now} style={{ left: `${(Math.min(now, total) / total) * 100}%` }} />
            )}
            <BarOf collector={one} bar={bars.find((bar) => bar.id === one.id)} total={total} />
          </span>
          <span className={classes.collectorState}>
            <StateMark state={one.state} />
            <span className="num dim">
              {one.state === "running" && one.progress
                ? `${goneOf(bars.find((bar) => bar.id === one.id))} / ${seconds(one.progress.planned_ms / 1000)}`
                : one.bytes
                  ? bytes(one.bytes)
                  : ""}
            </span>
          </span>
          {TROUBLE.has(one.state) && <Trouble run={run} collector={one} />}
        </div>
      ))}
      {run.collectors.length === 0 && <span className="dim">{t("captures.nothingYet")}</span>}
    </>
  );
}

/** Why a collector brought nothing home: the reason, what mends it, its exit status and last lines. */
function Trouble({ run, collector }: { run: RunSummary; collector: RunCollector }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const wants = collector.state === "failed" && !isActive(run.state);
  const detail = useRun(wants ? run.id : "").data?.collectors.find((one) => one.id === collector.id);
  const exit = detail?.exit_code ?? collector.exit_code;
  const tail = detail?.stderr_tail ?? collector.stderr_tail;
  const mend = collector.reason?.params?.mend;
  return (
    <div className={classes.trouble}>
      {collector.reason && <span>{sentence(collector.reason)}</span>}
      {exit !== undefined && exit !== null && exit !== 0 && (
        <span className="num">{t("captures.exit", { exit })}</span>
      )}
      {typeof mend === "string" && mend && <Mend mend={mend} />}
      {tail && <pre className={classes.tail}>{tail}</pre>}
    </div>
  );
}

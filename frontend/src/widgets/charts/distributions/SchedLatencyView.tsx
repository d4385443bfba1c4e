import { DataTable } from "../../../components/tables/DataTable";
import { toBucketPosition, toPercentages } from "../../../core/charts/panels";
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  formatQuantity,
} from "../../../core/text/format";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { SchedLatencyBody, VisualFigure, VisualLongWait, VisualWaits } from "../api";
import { ChartValue } from "../ChartValue";
import shared from "../charts.module.css";
import { FillPatterns, fillUrl, useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import classes from "./SchedLatency.module.css";

const PLOT = 120;
const TOP = 46;
const AXIS = 30;
const LEFT = 6;
const MAX_ROWS = 10;
const US = 1e3;

/** Render the distribution of waits, the baseline as an outline, and the tasks that ran during the longest waits. */
export function SchedLatencyView({ body, label }: { body: SchedLatencyBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  return (
    <div ref={ref} className={shared.drawing}>
      <Distribution body={body} width={width} label={label} />
      <dl className={classes.statistics}>
        <WaitStatistics waits={body.now} name={t("visuals.sched.now")} mark="now" />
        {body.before && <WaitStatistics waits={body.before} name={t("visuals.sched.before")} mark="before" />}
      </dl>
      <LongestWaits worst={body.worst.slice(0, MAX_ROWS)} label={label} />
    </div>
  );
}

function Distribution({ body, width, label }: { body: SchedLatencyBody; width: number; label: string }) {
  const { t } = useTranslation();
  const { now, before } = body;
  const buckets = Math.max(now.edges_us.length, before?.edges_us.length ?? 0, 1);
  const edges = now.edges_us.length === buckets ? now.edges_us : (before?.edges_us ?? []);
  const mine = toPercentages(now.counts, buckets);
  const theirs = before ? toPercentages(before.counts, buckets) : [];
  const top = Math.max(...mine, ...theirs, 1e-9);
  const bar = (width - 2 * LEFT) / buckets;
  const high = (share: number) => (share > 0 ? Math.max(1.5, PLOT * Math.sqrt(share / top)) : 0);
  const every = Math.max(1, Math.ceil(52 / bar));
  return (
    <svg className={shared.svg} width={width} height={TOP + PLOT + AXIS} role="img" aria-label={label}>
      {mine.map((share, i) => (
        <g key={edges[i]} transform={`translate(${LEFT + i * bar} ${TOP})`}>
          <title>
            {t("visuals.sched.bucket", {
              from: formatDuration((edges[i] ?? 0) * US),
              n: formatCount(now.counts[i] ?? 0),
              share: formatNumber(share),
            })}
          </title>
          <rect width={bar} height={PLOT} className={classes.hitArea} />
          <rect
            className={classes.bar}
            x={1}
            y={PLOT - high(share)}
            width={Math.max(1, bar - 2)}
            height={high(share)}
          />
          {theirs[i] !== undefined && (
            <rect
              className={classes.outline}
              x={1.5}
              y={PLOT - high(theirs[i] ?? 0)}
              width={Math.max(1, bar - 3)}
              height={high(theirs[i] ?? 0)}
            />
          )}
          {i % every === 0 && (
            <text className={classes.axis} x={0} y={PLOT + 14}>
              {formatDuration((edges[i] ?? 0) * US)}
            </text>
          )}
        </g>
      ))}
      <path className={classes.baseline} d={`M${LEFT} ${TOP + PLOT}H${width - LEFT}`} />
      {before && <Markers waits={before} edges={edges} bar={bar} width={width} level={2} dashed />}
      <Markers waits={now} edges={edges} bar={bar} width={width} level={0} />
      <text className={classes.axis} x={width - LEFT} y={TOP + PLOT + 27} textAnchor="end">
        {t("visuals.sched.scale")}
      </text>
    </svg>
  );
}

interface MarkersProps {
  waits: VisualWaits;
  edges: readonly number[];
  bar: number;
  width: number;
  level: number;
  dashed?: boolean;
}

/** Render lines at the mean, the 99th percentile and the maximum, with labels above. */
function Markers({ waits, edges, bar, width, level, dashed = false }: MarkersProps) {
  const { t } = useTranslation();
  const all: [string, VisualFigure][] = [
    [t("visuals.sched.average"), waits.average],
    [t("visuals.sched.p99"), waits.p99],
    [t("visuals.sched.maximum"), waits.maximum],
  ];
  let free = 0;
  return all.map(([name, figure]) => {
    const x = LEFT + bar * toBucketPosition(figure.value * 1e3, edges);
    const text = `${name} ${formatQuantity(figure.value, figure.unit)}`;
    const wide = text.length * 6.7 + 6;
    const left = Math.min(Math.max(free, x - wide / 2), width - wide);
    const fits = left >= free - 0.5;
    free = left + wide;
    return (
      <g key={name} className={classes.marker} data-dashed={dashed}>
        <path d={`M${x} ${12 + level * 11}V${TOP + PLOT}`} />
        {fits && !dashed && (
          <text x={left} y={10}>
            {text}
          </text>
        )}
      </g>
    );
  });
}

function WaitStatistics({ waits, name, mark }: { waits: VisualWaits; name: string; mark: "now" | "before" }) {
  const { t } = useTranslation();
  return (
    <div>
      <dt>
        <svg width="14" height="10" aria-hidden>
          <rect
            x="1"
            y="1"
            width="12"
            height="8"
            className={mark === "now" ? classes.bar : classes.outline}
          />
        </svg>{" "}
        {name}
      </dt>
      <dd>
        {t("visuals.sched.average")}{" "}
        <ChartValue figure={waits.average} label={`${name}, ${t("visuals.sched.average")}`} />
        {" · "}
        {t("visuals.sched.p99")}{" "}
        <ChartValue figure={waits.p99} label={`${name}, ${t("visuals.sched.p99")}`} />
        {" · "}
        {t("visuals.sched.maximum")}{" "}
        <ChartValue figure={waits.maximum} label={`${name}, ${t("visuals.sched.maximum")}`} />
        {" · "}
        {t("visuals.sched.waits", { count: waits.waits, visible: formatCompact(waits.waits) })}
      </dd>
    </div>
  );
}

/** Return `comm tid`, or `comm tid/pid` if they differ, as perf sched prints it. */
const task = ({ comm, pid, tid }: { comm: string; pid: number; tid: number }): string =>
  `${comm} ${tid === pid || pid < 0 ? tid : `${tid}/${pid}`}`;

function LongestWaits({ worst, label }: { worst: readonly VisualLongWait[]; label: string }) {
  const { t } = useTranslation();
  const id = useFillId();
  if (worst.length === 0) return null;
  const longest = Math.max(...worst.map((visualLongWait) => visualLongWait.waited.value), 1e-9);
  return (
    <table className={classes.longestWaits} aria-label={`${label}: ${t("visuals.sched.worst")}`}>
      <thead>
        <tr>
          <th>{t("visuals.sched.worst")}</th>
          <th className="right">{t("visuals.sched.waited")}</th>
          <th>
            {t("visuals.sched.instead")}
            <svg width="0" height="0" aria-hidden>
              <FillPatterns id={id} />
            </svg>
          </th>
        </tr>
      </thead>
      <tbody>
        {worst.map((visualLongWait, i) => (
          <tr key={i}>
            <td>
              <span className="mono">{task(visualLongWait)}</span>
              <span className="dim"> CPU {visualLongWait.cpu}</span>
            </td>
            <td className="right num">
              <ChartValue figure={visualLongWait.waited} label={task(visualLongWait)} />
            </td>
            <td>
              <WaitBar wait={visualLongWait} longest={longest} id={id} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Render a wait as a bar, divided into the tasks that ran during the wait. */
function WaitBar({ wait, longest, id }: { wait: VisualLongWait; longest: number; id: string }) {
  const { t } = useTranslation();
  const ran = [
    ...wait.instead.map((visualRan) => ({ name: task(visualRan), ms: visualRan.ran.value })),
    ...(wait.others ? [{ name: t("visuals.sched.others"), ms: wait.others.value }] : []),
  ];
  let left = 0;
  const text = ran.map(({ name, ms }) => `${name} ${formatQuantity(ms, "ms")}`).join(" · ");
  return (
    <>
      <svg className={classes.strip} viewBox="0 0 400 12" preserveAspectRatio="none" aria-hidden>
        <rect className={classes.totalWait} width={(400 * wait.waited.value) / longest} height="12" />
        {ran.map(({ name, ms }, n) => {
          const x = (400 * left) / longest;
          left += ms;
          return (
            <rect
              key={n}
              className={classes.taskTime}
              fill={fillUrl(id, n)}
              x={x}
              width={(400 * ms) / longest}
              height="12"
            >
              <title>{name}</title>
            </rect>
          );
        })}
      </svg>
      <span className={classes.taskNames}>{text || t("visuals.sched.noTask")}</span>
    </>
  );
}

/** Render the buckets and the longest waits as tables. */
export function SchedLatencyTable({ body, label }: { body: SchedLatencyBody; label: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const buckets = Math.max(body.now.edges_us.length, body.before?.edges_us.length ?? 0);
  const edges = body.now.edges_us.length === buckets ? body.now.edges_us : (body.before?.edges_us ?? []);
  const mine = toPercentages(body.now.counts, buckets);
  const theirs = body.before ? toPercentages(body.before.counts, buckets) : [];
  return (
    <>
      <DataTable label={label} maxHeight={300}>
        <thead>
          <tr>
            <th>{t("visuals.sched.atLeast")}</th>
            <th className="right">{t("visuals.sched.now")}</th>
            <th className="right">%</th>
            {body.before && <th className="right">{t("visuals.sched.before")}</th>}
            {body.before && <th className="right">%</th>}
          </tr>
        </thead>
        <tbody>
          {edges.map((edge, i) => (
            <tr key={edge}>
              <td className="num">{formatDuration(edge * US)}</td>
              <td className="right num">{formatCount(body.now.counts[i] ?? 0)}</td>
              <td className="right num">{formatNumber(mine[i] ?? 0)}</td>
              {body.before && <td className="right num">{formatCount(body.before.counts[i] ?? 0)}</td>}
              {body.before && <td className="right num">{formatNumber(theirs[i] ?? 0)}</td>}
            </tr>
          ))}
        </tbody>
      </DataTable>
      <dl className={classes.statistics}>
        <WaitStatistics waits={body.now} name={t("visuals.sched.now")} mark="now" />
        {body.before && <WaitStatistics waits={body.before} name={t("visuals.sched.before")} mark="before" />}
      </dl>
      <DataTable label={`${label}: ${t("visuals.sched.worst")}`} maxHeight={320} stack>
        <thead>
          <tr>
            <th>{t("visuals.sched.worst")}</th>
            <th>CPU</th>
            <th>{t("visuals.time")}</th>
            <th className="right">{t("visuals.sched.waited")}</th>
            <th>{t("visuals.sched.began")}</th>
            <th>{t("visuals.sched.instead")}</th>
          </tr>
        </thead>
        <tbody>
          {body.worst.map((visualLongWait, i) => (
            <tr key={i}>
              <td className="mono">{task(visualLongWait)}</td>
              <td className="num">{visualLongWait.cpu}</td>
              <td className="num">{time.time(visualLongWait.from_ns, 1e6)}</td>
              <td className="right num">
                <ChartValue figure={visualLongWait.waited} label={task(visualLongWait)} />
              </td>
              <td>{t(visualLongWait.preempted ? "visuals.sched.preempted" : "visuals.sched.woken")}</td>
              <td>
                {visualLongWait.instead.map((each) => (
                  <span key={each.tid} className={classes.task}>
                    {task(each)} <ChartValue figure={each.ran} label={task(each)} />
                  </span>
                ))}
                {visualLongWait.others && (
                  <span className={classes.task}>
                    {t("visuals.sched.others")}{" "}
                    <ChartValue figure={visualLongWait.others} label={t("visuals.sched.others")} />
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { BlockSkeleton, Loaded } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { count, milliseconds, percent } from "../../core/text/format";
import { get, keys } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { DelayHistogram } from "../../widgets/cpu-tracks/DelayHistogram";
import type { Sched, SchedTask } from "./api";
import { CpuTracksPanel } from "./CpuTracksPanel";
import classes from "./Run.module.css";

const MAX_ROWS = 100;
const MUCH_LOST = 0.01;
type Sort = "delay_max_ms" | "delay_p99_ms" | "delay_avg_ms" | "runtime_ms" | "switches";
const COLUMNS: readonly Sort[] = ["runtime_ms", "switches", "delay_avg_ms", "delay_p99_ms", "delay_max_ms"];

/** Who ran, who waited for a CPU and how long, from the scheduler's own events. */
export function SchedPanel({ runId }: { runId: string }) {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: [...keys.run(runId), "sched"],
    queryFn: () => get(`/runs/${runId}/sched`),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Panel title={t("sched.title")} flush headerExtra={query.data && <Quality sched={query.data} />}>
      <Loaded query={query} skeleton={<BlockSkeleton height={360} />}>
        {(sched) => (
          <>
            {sched.t0_ns !== undefined && sched.t1_ns !== undefined && (
              <CpuTracksPanel runId={runId} whole={{ from: sched.t0_ns, to: sched.t1_ns + 1 }} />
            )}
            <div className={classes.sched}>
              <Tasks tasks={sched.tasks} />
              <DelayHistogram
                edgesUs={sched.histogram.edges_us}
                counts={sched.histogram.counts}
                label={t("sched.histogram")}
              />
            </div>
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function Quality({ sched }: { sched: Sched }) {
  const { t } = useTranslation();
  const check = sched.checked_against;
  return (
    <>
      <span className="num">{milliseconds(sched.duration_ms)}</span>
      <StatusIcon tone={sched.lost_share > MUCH_LOST ? "warn" : "ok"}>
        {t("sched.lost", { count: sched.lost, share: percent(sched.lost_share) })}
      </StatusIcon>
      {check && (
        <StatusIcon tone={check.switches === check.parsed_switches ? "ok" : "warn"}>
          {t("sched.checked", { parsed: count(check.parsed_switches), perf: count(check.switches) })}
        </StatusIcon>
      )}
    </>
  );
}

/** As perf writes it: the thread, and its process where that is another. */
function threadOf({ pid, tid }: SchedTask): string {
  return tid === pid || pid < 0 ? `${tid}` : `${tid}/${pid}`;
}

function Tasks({ tasks }: { tasks: readonly SchedTask[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [by, setBy] = useState<Sort>("delay_max_ms");
  const rows = [...tasks].sort((x, y) => (y[by] ?? -1) - (x[by] ?? -1)).slice(0, MAX_ROWS);
  return (
    <DataTable label={t("sched.title")} maxHeight={420}>
      <thead>
        <tr>
          <th>{t("sched.task")}</th>
          {COLUMNS.map((column) => (
            <th key={column} className="right" aria-sort={by === column ? "descending" : "none"}>
              <button type="button" className={classes.sort} onClick={() => setBy(column)}>
                {t(`sched.${column}`)} {by === column ? "↓" : ""}
              </button>
            </th>
          ))}
          <th>{t("sched.at")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((task) => (
          <tr key={task.tid}>
            <td>
              <span className="mono">{task.task}</span> <span className="num dim">{threadOf(task)}</span>
            </td>
            <td className="right num">{milliseconds(task.runtime_ms)}</td>
            <td className="right num">{count(task.switches)}</td>
            <td className="right num">{milliseconds(task.delay_avg_ms)}</td>
            <td className="right num">{milliseconds(task.delay_p99_ms)}</td>
            <td className="right num">{milliseconds(task.delay_max_ms)}</td>
            <td className="num dim">{task.delay_max_at_ns ? time.time(task.delay_max_at_ns, 1e6) : "–"}</td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

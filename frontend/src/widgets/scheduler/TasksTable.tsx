import { useState } from "react";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { count, milliseconds } from "../../core/text/format";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Sched, SchedTask } from "./api";
import classes from "./Scheduler.module.css";

const MAX_ROWS = 100;
type Sort = "delay_max_ms" | "delay_p99_ms" | "delay_avg_ms" | "runtime_ms" | "switches";
const COLUMNS: readonly Sort[] = ["runtime_ms", "switches", "delay_avg_ms", "delay_p99_ms", "delay_max_ms"];

/** Return `tid`, or `tid/pid` if they differ, as perf sched prints it. */
function threadOf({ pid, tid }: SchedTask): string {
  return tid === pid || pid < 0 ? `${tid}` : `${tid}/${pid}`;
}

interface Props {
  data: Sched;
  /** Whether the numbers cover only the selected time. */
  isSelection: boolean;
  chosen: number | undefined;
  onChoose(tid: number | undefined): void;
}

/** Render run and wait times of each thread. A click on a name selects the thread whose wake-ups are visible. */
export function TasksTable({ data, isSelection, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [by, setBy] = useState<Sort>("delay_max_ms");
  const rows = [...data.tasks].sort((x, y) => (y[by] ?? -1) - (x[by] ?? -1)).slice(0, MAX_ROWS);
  if (rows.length === 0) return <p className={classes.none}>{t("sched.nothing")}</p>;
  return (
    <DataTable label={t("sched.title")} maxHeight={420}>
      <thead>
        <tr>
          <th>{t(isSelection ? "sched.taskInSelection" : "sched.task")}</th>
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
          <tr key={task.tid} aria-selected={task.tid === chosen}>
            <td>
              <button
                type="button"
                className={cx(classes.sort, task.tid === chosen && classes.chosen)}
                aria-pressed={task.tid === chosen}
                onClick={() => onChoose(task.tid === chosen ? undefined : task.tid)}
              >
                <span className="mono">{task.task}</span> <span className="num dim">{threadOf(task)}</span>
              </button>
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

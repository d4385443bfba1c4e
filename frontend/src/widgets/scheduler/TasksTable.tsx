import { TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { useState } from "react";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { formatCount, formatMilliseconds } from "../../core/text/format";
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

function isMatch(task: SchedTask, search: string): boolean {
  const text = search.trim().toLowerCase();
  return `${task.task} ${threadOf(task)}`.toLowerCase().includes(text);
}

interface Props {
  data: Sched;
  /** Text that the name, TID or PID of a thread contains; empty for all threads. */
  search: string;
  onSearch(text: string): void;
  /** Whether the numbers cover only the selected time. */
  isSelection: boolean;
  chosen: number | undefined;
  onChoose(tid: number | undefined): void;
}

/** Render run and wait times of each thread. A click on a name selects the thread whose wake-ups are visible. */
export function TasksTable({ data, isSelection, search, onSearch, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [by, setBy] = useState<Sort>("delay_max_ms");
  const matching = data.tasks.filter((task) => isMatch(task, search));
  const rows = matching.sort((x, y) => (y[by] ?? -1) - (x[by] ?? -1)).slice(0, MAX_ROWS);
  if (data.tasks.length === 0) return <p className={classes.none}>{t("sched.nothing")}</p>;
  return (
    <div>
      <div className={classes.toolbar}>
        <TextInput
          size="xs"
          aria-label={t("sched.search")}
          placeholder={t("sched.search")}
          leftSection={<Search size={13} />}
          value={search}
          maxLength={100}
          onChange={(event) => onSearch(event.currentTarget.value)}
        />
        <span className="dim" role="status">
          {t("sched.rows", {
            visible: formatCount(rows.length),
            all: formatCount(Math.max(data.tasks_total, data.tasks.length)),
          })}
        </span>
      </div>
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
              <td className="right num">{formatMilliseconds(task.runtime_ms)}</td>
              <td className="right num">{formatCount(task.switches)}</td>
              <td className="right num">{formatMilliseconds(task.delay_avg_ms)}</td>
              <td className="right num">{formatMilliseconds(task.delay_p99_ms)}</td>
              <td className="right num">{formatMilliseconds(task.delay_max_ms)}</td>
              <td className="num dim">{task.delay_max_at_ns ? time.time(task.delay_max_at_ns, 1e6) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </div>
  );
}

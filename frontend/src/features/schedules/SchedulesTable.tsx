import type { Cadence, Schedule } from "../../client/models";
import { StatusIcon, Tag, TierTag, type Tone } from "../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { ScheduleStrip } from "./ScheduleStrip";
import classes from "./schedules.module.css";

const TONES: Record<Schedule["state"], Tone> = { active: "ok", paused: "off", done: "idle" };

/** Return the cron expression, or the single local time as `2026-11-23 02:30`. */
export const formatCadence = (cadence: Cadence): string =>
  cadence.kind === "cron" ? cadence.cron : cadence.local_time.slice(0, 16).replace("T", " ");

/** Row count above which the table gets its own scroll bar, so that the details below it stay visible. */
export const MAX_UNSCROLLED_ROWS = 14;
const MAX_HEIGHT_PX = 460;

/** Return whether the row of a schedule contains every word of `words`. */
export function matchesSearch(schedule: Schedule, words: string): boolean {
  const labels = Object.entries(schedule.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const fields = [
    schedule.name,
    formatCadence(schedule.cadence),
    schedule.cadence.zone,
    schedule.capture.plan,
    schedule.owner.name,
    ...labels,
  ];
  const text = [...fields, ...schedule.hosts.map((host) => host.name)].join("\n").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface Props {
  schedules: readonly Schedule[];
  chosen: string;
  onChoose: (id: string) => void;
}

/** Table of schedules: cadence, plan, target, next due time, and results of the last due times. */
export function SchedulesTable({ schedules, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const formatMessage = useMessage();
  return (
    <DataTable
      stack
      label={t("schedules.title")}
      {...(schedules.length > MAX_UNSCROLLED_ROWS ? { maxHeight: MAX_HEIGHT_PX } : {})}
    >
      <thead>
        <tr>
          <th>{t("schedules.name")}</th>
          <th>{t("schedules.when")}</th>
          <th>{t("schedules.what")}</th>
          <th>{t("schedules.where")}</th>
          <th>{t("schedules.next")}</th>
          <th>{t("schedules.strip")}</th>
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule) => (
          <tr key={schedule.id} className={rowLinkClass(schedule.id === chosen)}>
            <td>
              <button
                type="button"
                className={classes.name}
                aria-pressed={schedule.id === chosen}
                onClick={() => onChoose(schedule.id === chosen ? "" : schedule.id)}
              >
                {schedule.name}
              </button>{" "}
              {schedule.state !== "active" && (
                <StatusIcon tone={TONES[schedule.state]}>{t(`schedules.state.${schedule.state}`)}</StatusIcon>
              )}{" "}
              {schedule.refusal && (
                <StatusIcon tone="bad" title={formatMessage(schedule.refusal)}>
                  {t("schedules.refusedNow")}
                </StatusIcon>
              )}
            </td>
            <td>
              <span className="mono">{formatCadence(schedule.cadence)}</span>{" "}
              <span className="dim">{schedule.cadence.zone}</span>
            </td>
            <td>
              {names.plan(schedule.capture.plan)} <TierTag tier={schedule.tier} />
            </td>
            <td>
              <span className={classes.tags}>
                {schedule.labels
                  ? Object.entries(schedule.labels).map(([name, value]) => (
                      <Tag key={name}>
                        {name}={value}
                      </Tag>
                    ))
                  : schedule.hosts.slice(0, 3).map((host) => <Tag key={host.id}>{host.name}</Tag>)}
                <span className="num dim">{t("schedules.matching", { count: schedule.matching })}</span>
              </span>
            </td>
            <td>
              <RelativeTime at={schedule.next_due} />{" "}
              {schedule.upcoming[0]?.window && (
                <StatusIcon tone="off" title={schedule.upcoming[0].window.reason}>
                  {t("schedules.inMaintenance")}
                </StatusIcon>
              )}
            </td>
            <td>
              <ScheduleStrip schedule={schedule} />
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

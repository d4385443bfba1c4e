import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { formatInstant, isoToNs } from "../../core/time/clock";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Upcoming } from "./api";
import classes from "./schedules.module.css";

/** Return the local time of an ISO 8601 time with its UTC offset: `2026-11-23 02:30 +01:00`. */
export const localTimeText = (iso: string): string =>
  `${iso.slice(0, 10)} ${iso.slice(11, 16)} ${iso.endsWith("Z") ? "+00:00" : iso.slice(19)}`;

const MIN_NS = 60e9;
const inUtc = (iso: string, laterMin: number): string =>
  formatInstant((isoToNs(iso) ?? 0) + laterMin * MIN_NS, "utc").slice(0, "2026-11-23 02:30".length);

interface Props {
  upcoming: readonly Upcoming[];
  zone: string;
  /** Duration in minutes of what starts at each due time; adds a column with the end. */
  lastsMin?: number;
}

/** Upcoming due times in their time zone and in UTC, with notes on maintenance windows and clock changes. */
export function UpcomingTable({ upcoming, zone, lastsMin }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const elsewhere = zone !== "UTC";
  return (
    <DataTable stack={lastsMin !== undefined} label={t("schedules.upcoming")}>
      <thead>
        <tr>
          <th>{zone}</th>
          {elsewhere && <th>{lastsMin === undefined ? "UTC" : t("maintenance.fromUtc")}</th>}
          {lastsMin !== undefined && <th>{t("maintenance.untilUtc")}</th>}
          <th>{t("schedules.note")}</th>
        </tr>
      </thead>
      <tbody>
        {upcoming.map((upcoming) => (
          <tr key={upcoming.at}>
            <td className="num">{localTimeText(upcoming.local_time)}</td>
            {elsewhere && <td className="num">{inUtc(upcoming.at, 0)}</td>}
            {lastsMin !== undefined && <td className="num">{inUtc(upcoming.at, lastsMin)}</td>}
            <td className={classes.note}>
              {upcoming.window ? (
                <StatusIcon tone="off" title={upcoming.window.reason}>
                  {t("schedules.maintenanceUntil", {
                    until: time.iso(upcoming.window.ends_at),
                    reason: upcoming.window.reason,
                  })}
                </StatusIcon>
              ) : upcoming.kind === "plain" ? (
                ""
              ) : (
                <StatusIcon tone="warn">
                  {t(`schedules.clockChange.${upcoming.kind}`, {
                    time: upcoming.requested_local_time.slice(11, 16),
                  })}
                </StatusIcon>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

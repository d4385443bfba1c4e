import { useTranslation } from "react-i18next";
import type { Upcoming } from "../../client/schedules";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { instant, isoToNs } from "../../core/clock";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./schedules.module.css";

/** `2026-11-23 02:30 +01:00`: what the clock of the zone shows, with its offset. */
export const onTheWall = (iso: string): string =>
  `${iso.slice(0, 10)} ${iso.slice(11, 16)} ${iso.endsWith("Z") ? "+00:00" : iso.slice(19)}`;

const MIN_NS = 60e9;
const inUtc = (iso: string, laterMin: number): string =>
  instant((isoToNs(iso) ?? 0) + laterMin * MIN_NS, "utc").slice(0, "2026-11-23 02:30".length);

interface Props {
  upcoming: readonly Upcoming[];
  zone: string;
  /** Where each begins something that lasts so many minutes. */
  lastsMin?: number;
}

/** Due instants on the clock of their zone and in UTC, with what is odd about them. */
export function UpcomingTable({ upcoming, zone, lastsMin }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const elsewhere = zone !== "UTC";
  return (
    <Grid stack={lastsMin !== undefined} label={t("schedules.upcoming")}>
      <thead>
        <tr>
          <th>{zone}</th>
          {elsewhere && <th>{lastsMin === undefined ? "UTC" : t("maintenance.fromUtc")}</th>}
          {lastsMin !== undefined && <th>{t("maintenance.untilUtc")}</th>}
          <th>{t("schedules.note")}</th>
        </tr>
      </thead>
      <tbody>
        {upcoming.map((one) => (
          <tr key={one.at}>
            <td className="num">{onTheWall(one.wall)}</td>
            {elsewhere && <td className="num">{inUtc(one.at, 0)}</td>}
            {lastsMin !== undefined && <td className="num">{inUtc(one.at, lastsMin)}</td>}
            <td className={classes.note}>
              {one.window ? (
                <Mark tone="off" title={one.window.reason}>
                  {t("schedules.heldUntil", {
                    until: time.iso(one.window.ends_at),
                    reason: one.window.reason,
                  })}
                </Mark>
              ) : one.kind === "plain" ? (
                ""
              ) : (
                <Mark tone="warn">
                  {t(`schedules.odd.${one.kind}`, { wall: one.wanted_wall.slice(11, 16) })}
                </Mark>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

import { Button } from "@mantine/core";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import type { MaintenanceWindow } from "../../client/schedules";
import { Grid } from "../../components/Grid";
import { Mark, Tag, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { remove, useAction, useMay } from "../../lib/queries";
import { scheduleKeys } from "../../lib/schedules";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./schedules.module.css";

/** More of them would be a calendar. */
const FURTHER = 3;
const TONES: Record<MaintenanceWindow["state"], Tone> = { now: "warn", to_come: "idle", over: "off" };

const endOf = ({ state, recurs }: MaintenanceWindow) =>
  state !== "now" ? "maintenance.forget" : recurs ? "maintenance.endForGood" : "maintenance.end";

/** Times in which no scheduled capture starts, where, why, and who said so. */
export function Windows({ windows }: { windows: readonly MaintenanceWindow[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const may = useMay();
  const end = useAction(
    (id: string) => remove(`/maintenance/${id}`),
    [scheduleKeys.windows, scheduleKeys.schedules],
  );
  return (
    <>
      <ErrorLine error={end.error} />
      <Grid stack label={t("maintenance.title")}>
        <thead>
          <tr>
            <th>{t("maintenance.state")}</th>
            <th>{t("maintenance.from")}</th>
            <th>{t("maintenance.until")}</th>
            <th>{t("maintenance.again")}</th>
            <th>{t("maintenance.where")}</th>
            <th>{t("captures.reason")}</th>
            <th>{t("maintenance.by")}</th>
            <th>
              <span className="visually-hidden">{t("maintenance.end")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {windows.map((one) => (
            <tr key={one.id}>
              <td>
                <Mark tone={TONES[one.state]}>{t(`maintenance.states.${one.state}`)}</Mark>
              </td>
              <td className="num">{time.iso((one.times[0] ?? one).starts_at)}</td>
              <td className="num">{time.iso((one.times[0] ?? one).ends_at)}</td>
              <td>
                <Again window={one} />
              </td>
              <td>
                <span className={classes.tags}>
                  {one.host
                    ? one.host.name
                    : one.labels
                      ? Object.entries(one.labels).map(([name, value]) => (
                          <Tag key={name}>
                            {name}={value}
                          </Tag>
                        ))
                      : t("maintenance.everywhere")}
                </span>
              </td>
              <td>{one.reason}</td>
              <td>{one.by?.name ?? "–"}</td>
              <td className="right">
                {may("maintenance.manage") && one.state !== "over" && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={end.isPending && end.variables === one.id}
                    onClick={() => end.mutate(one.id)}
                  >
                    {t(endOf(one))}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
    </>
  );
}

/** When it comes again, for how long, and the next times but the first. */
function Again({ window: { recurs, times, ends_at } }: { window: MaintenanceWindow }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  if (!recurs) return <span className="dim">–</span>;
  return (
    <>
      <div>
        <span className="mono">{recurs.cron}</span> <span className="dim">{recurs.zone}</span>{" "}
        <span className="num">{t("schedules.minutes", { count: recurs.minutes })}</span>
      </div>
      {times.length > 1 && (
        <div className="dim">
          {t("maintenance.then")}
          {times.slice(1, FURTHER).map((one, n) => (
            <Fragment key={one.starts_at}>
              {n > 0 && ","} <span className="num">{time.iso(one.starts_at)}</span>
            </Fragment>
          ))}
        </div>
      )}
      {ends_at && <div className="dim">{t("maintenance.stopsAt", { at: time.iso(ends_at) })}</div>}
    </>
  );
}

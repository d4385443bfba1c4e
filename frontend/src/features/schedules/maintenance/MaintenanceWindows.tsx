import { Button } from "@mantine/core";
import { Fragment } from "react";
import type { MaintenanceWindow } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { StatusIcon, Tag, type Tone } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { scheduleKeys } from "../../../lib/captures/schedules";
import { remove, useAction, usePermission } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";

/** End index of the occurrences in a row: the first has its own columns, so two more are listed. */
const FURTHER = 3;
const TONES: Record<MaintenanceWindow["state"], Tone> = {
  active: "warn",
  upcoming: "idle",
  ended: "off",
};

const endOf = ({ state, recurs }: MaintenanceWindow) =>
  state !== "active" ? "maintenance.delete" : recurs ? "maintenance.endRecurrence" : "maintenance.end";

/** Table of maintenance windows with their hosts, reason and author. */
export function MaintenanceWindows({ windows }: { windows: readonly MaintenanceWindow[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const can = usePermission();
  const end = useAction(
    (id: string) => remove(`/maintenance-windows/${id}`),
    [scheduleKeys.windows, scheduleKeys.schedules],
  );
  return (
    <>
      <ErrorLine error={end.error} />
      <DataTable stack label={t("maintenance.title")}>
        <thead>
          <tr>
            <th>{t("maintenance.state")}</th>
            <th>{t("maintenance.from")}</th>
            <th>{t("maintenance.until")}</th>
            <th>{t("maintenance.recurring")}</th>
            <th>{t("maintenance.where")}</th>
            <th>{t("captures.reason")}</th>
            <th>{t("maintenance.by")}</th>
            <th>
              <span className="visually-hidden">{t("maintenance.end")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {windows.map((window) => (
            <tr key={window.id}>
              <td>
                <StatusIcon tone={TONES[window.state]}>{t(`maintenance.states.${window.state}`)}</StatusIcon>
              </td>
              <td className="num">{time.iso((window.times[0] ?? window).starts_at)}</td>
              <td className="num">{time.iso((window.times[0] ?? window).ends_at)}</td>
              <td>
                <RepeatText window={window} />
              </td>
              <td>
                <span className={classes.tags}>
                  {window.host
                    ? window.host.name
                    : window.labels
                      ? Object.entries(window.labels).map(([name, value]) => (
                          <Tag key={name}>
                            {name}={value}
                          </Tag>
                        ))
                      : t("maintenance.everywhere")}
                </span>
              </td>
              <td>{window.reason}</td>
              <td>{window.by?.name ?? "–"}</td>
              <td className="right">
                {can("maintenance.manage") && window.state !== "ended" && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={end.isPending && end.variables === window.id}
                    onClick={() => end.mutate(window.id)}
                  >
                    {t(endOf(window))}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </>
  );
}

/** Recurrence of a window: cron expression, duration, the occurrences after the first, and the end. */
function RepeatText({ window: { recurs, times, ends_at } }: { window: MaintenanceWindow }) {
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
          {times.slice(1, FURTHER).map((item, n) => (
            <Fragment key={item.starts_at}>
              {n > 0 && ","} <span className="num">{time.iso(item.starts_at)}</span>
            </Fragment>
          ))}
        </div>
      )}
      {ends_at && <div className="dim">{t("maintenance.repeatsUntil", { at: time.iso(ends_at) })}</div>}
    </>
  );
}

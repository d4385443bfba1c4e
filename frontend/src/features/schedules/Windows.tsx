import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { MaintenanceWindow } from "../../client/schedules";
import { Grid } from "../../components/Grid";
import { Mark, Tag, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { remove, useAction, useMay } from "../../lib/queries";
import { scheduleKeys } from "../../lib/schedules";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./schedules.module.css";

const TONES: Record<MaintenanceWindow["state"], Tone> = { now: "warn", to_come: "idle", over: "off" };

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
              <td className="num">{time.iso(one.starts_at)}</td>
              <td className="num">{time.iso(one.ends_at)}</td>
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
                    {t(one.state === "now" ? "maintenance.end" : "maintenance.forget")}
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

import { Button } from "@mantine/core";
import { Pause, Pencil, Play } from "lucide-react";
import type { Schedule } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { RunStateIcon, StatusIcon, type Tone } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { FactList } from "../../components/tables/FactList";
import { scheduleKeys } from "../../lib/captures/schedules";
import { patch, useAction, usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { FiringState, ScheduleFiring } from "./api";
import { ScheduleStrip } from "./ScheduleStrip";
import classes from "./schedules.module.css";
import { UpcomingTable } from "./UpcomingTable";

const TONES: Record<FiringState, Tone> = { started: "ok", missed: "bad", skipped: "off", refused: "bad" };

/** Details of a schedule: its owner, its next due times, and the result of each past due time with the reason. */
export function ScheduleDetail({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const { t } = useTranslation();
  const can = usePermission();
  const formatMessage = useMessage();
  const paused = schedule.state === "paused";
  const pause = useAction(
    (paused: boolean) => patch(`/schedules/${schedule.id}`, { version: schedule.version, paused }),
    [scheduleKeys.schedules],
  );
  return (
    <Panel
      title={schedule.name}
      headerExtra={
        can("schedule.manage") && (
          <span className={classes.buttons}>
            {schedule.state !== "done" && (
              <Button
                size="xs"
                variant="default"
                leftSection={paused ? <Play size={13} /> : <Pause size={13} />}
                loading={pause.isPending}
                onClick={() => pause.mutate(!paused)}
              >
                {t(paused ? "schedules.resume" : "schedules.pause")}
              </Button>
            )}
            <Button size="xs" variant="default" leftSection={<Pencil size={13} />} onClick={onEdit}>
              {t("schedules.edit")}
            </Button>
          </span>
        )
      }
    >
      <div className={classes.stack}>
        <ErrorLine error={pause.error} />
        {schedule.refusal && <StatusIcon tone="bad">{formatMessage(schedule.refusal)}</StatusIcon>}
        <FactList
          items={[
            [t("schedules.owner"), schedule.owner.name],
            [t("captures.reason"), schedule.reason || "–"],
            [t("schedules.tolerance"), t("schedules.minutes", { count: schedule.tolerance_s / 60 })],
            [t("schedules.catchUp"), t(`schedules.catchUpOf.${schedule.catch_up}`)],
            ...(["started", "missed", "skipped", "refused"] as const).map(
              (item) => [t(`schedules.outcome.${item}`), schedule.counts[item] ?? 0] as const,
            ),
          ]}
        />
        <ScheduleStrip schedule={schedule} width={760} />
        <div className={classes.editor}>
          <ScheduleHistory firings={schedule.recent} />
          <div>
            <h3>{t("schedules.upcoming")}</h3>
            {schedule.upcoming.length > 0 ? (
              <UpcomingTable upcoming={schedule.upcoming} zone={schedule.cadence.zone} />
            ) : (
              <p className={classes.hint}>{t(`schedules.notDue.${schedule.state}`)}</p>
            )}
          </div>
        </div>
      </div>
    </Panel>
  );
}

function ScheduleHistory({ firings }: { firings: readonly ScheduleFiring[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const formatMessage = useMessage();
  return (
    <div>
      <h3>{t("schedules.past")}</h3>
      {firings.length === 0 ? (
        <p className={classes.hint}>{t("schedules.neverDue")}</p>
      ) : (
        <DataTable label={t("schedules.past")} maxHeight={360}>
          <thead>
            <tr>
              <th>{t("schedules.dueAt")}</th>
              <th>{t("schedules.what")}</th>
              <th>{t("schedules.capture")}</th>
              <th>{t("captures.reason")}</th>
            </tr>
          </thead>
          <tbody>
            {firings.map((firing) => (
              <tr key={firing.id}>
                <td className="num">
                  {time.iso(firing.due_at)}
                  {firing.count > 1 && <span className="dim"> – {time.iso(firing.last_due_at)}</span>}
                </td>
                <td>
                  <StatusIcon tone={TONES[firing.state]}>
                    {t(`schedules.outcome.${firing.state}`)}
                    {firing.count > 1 && <span className="num"> × {firing.count}</span>}
                  </StatusIcon>
                </td>
                <td>
                  {firing.capture ? (
                    <>
                      <Link to="/captures/$captureId" params={{ captureId: firing.capture.id }}>
                        #{firing.capture.number}
                      </Link>{" "}
                      <RunStateIcon state={firing.capture.state} />
                    </>
                  ) : (
                    <span className="dim">–</span>
                  )}
                </td>
                <td>{formatMessage(firing.reason)}</td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
    </div>
  );
}

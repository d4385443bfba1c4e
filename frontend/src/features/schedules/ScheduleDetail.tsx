import { Button } from "@mantine/core";
import { Pause, Pencil, Play } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Became, Firing, Schedule } from "../../client/schedules";
import { Facts } from "../../components/Facts";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark, StateMark, type Tone } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { ErrorLine } from "../../components/States";
import { useSentence } from "../../lib/i18n";
import { patch, useAction, useMay } from "../../lib/queries";
import { scheduleKeys } from "../../lib/schedules";
import { useTimeFormat } from "../../lib/useFormat";
import { Strip } from "./Strip";
import classes from "./schedules.module.css";
import { UpcomingTable } from "./UpcomingTable";

const TONES: Record<Became, Tone> = { fired: "ok", missed: "bad", skipped: "off", refused: "bad" };

/** One schedule: whose it is, when it is due next, and what became of each due time, with the reason. */
export function ScheduleDetail({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const sentence = useSentence();
  const paused = schedule.state === "paused";
  const pause = useAction(
    (wanted: boolean) =>
      patch<Schedule>(`/schedules/${schedule.id}`, { version: schedule.version, paused: wanted }),
    [scheduleKeys.schedules],
  );
  return (
    <Panel
      title={schedule.name}
      aside={
        may("schedule.manage") && (
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
        {schedule.refusal && <Mark tone="bad">{sentence(schedule.refusal)}</Mark>}
        <Facts
          items={[
            [t("schedules.owner"), schedule.owner.name],
            [t("captures.reason"), schedule.reason || "–"],
            [t("schedules.grace"), t("schedules.minutes", { count: schedule.grace_s / 60 })],
            [t("schedules.catchUp"), t(`schedules.catchUpOf.${schedule.catch_up}`)],
            ...(["fired", "missed", "skipped", "refused"] as const).map(
              (one) => [t(`schedules.became.${one}`), schedule.counts[one] ?? 0] as const,
            ),
          ]}
        />
        <Strip schedule={schedule} width={760} />
        <div className={classes.editor}>
          <Firings firings={schedule.recent} />
          <div>
            <h3>{t("schedules.upcoming")}</h3>
            {schedule.upcoming.length > 0 ? (
              <UpcomingTable upcoming={schedule.upcoming} zone={schedule.cadence.zone} />
            ) : (
              <p className={classes.hint}>{t(`schedules.nothingComes.${schedule.state}`)}</p>
            )}
          </div>
        </div>
      </div>
    </Panel>
  );
}

function Firings({ firings }: { firings: readonly Firing[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const sentence = useSentence();
  return (
    <div>
      <h3>{t("schedules.past")}</h3>
      {firings.length === 0 ? (
        <p className={classes.hint}>{t("schedules.neverDue")}</p>
      ) : (
        <Grid label={t("schedules.past")} maxHeight={360}>
          <thead>
            <tr>
              <th>{t("schedules.dueAt")}</th>
              <th>{t("schedules.what")}</th>
              <th>{t("schedules.capture")}</th>
              <th>{t("captures.reason")}</th>
            </tr>
          </thead>
          <tbody>
            {firings.map((one) => (
              <tr key={one.id}>
                <td className="num">
                  {time.iso(one.due_at)}
                  {one.count > 1 && <span className="dim"> – {time.iso(one.last_due_at)}</span>}
                </td>
                <td>
                  <Mark tone={TONES[one.state]}>
                    {t(`schedules.became.${one.state}`)}
                    {one.count > 1 && <span className="num"> × {one.count}</span>}
                  </Mark>
                </td>
                <td>
                  {one.capture ? (
                    <>
                      <Link to="/captures/$captureId" params={{ captureId: one.capture.id }}>
                        #{one.capture.number}
                      </Link>{" "}
                      <StateMark state={one.capture.state} />
                    </>
                  ) : (
                    <span className="dim">–</span>
                  )}
                </td>
                <td>{sentence(one.reason)}</td>
              </tr>
            ))}
          </tbody>
        </Grid>
      )}
    </div>
  );
}

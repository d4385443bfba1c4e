import { Button } from "@mantine/core";
import { Pencil, RotateCw, UserRoundCheck } from "lucide-react";
import type { Rotation } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { scheduleKeys } from "../../lib/captures/schedules";
import { post, remove, useAction, usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Shift } from "./api";
import classes from "./oncall.module.css";
import { ShiftCalendar } from "./ShiftCalendar";

interface Props {
  rotation: Rotation;
  onEdit: () => void;
  onOverride: () => void;
}

/** A rotation: current and next shift, source, shift calendar, and overrides. */
export function RotationPanel({ rotation, onEdit, onOverride }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const formatMessage = useMessage();
  const fetch = useAction(() => post(`/rotations/${rotation.id}/fetch`), [scheduleKeys.oncall]);
  return (
    <Panel
      title={rotation.name}
      headerExtra={
        <span className={classes.buttons}>
          {can("oncall.override") && rotation.has_secret && (
            <Button
              size="xs"
              variant="default"
              leftSection={<RotateCw size={13} />}
              loading={fetch.isPending}
              onClick={() => fetch.mutate(undefined)}
            >
              {t("oncall.fetch")}
            </Button>
          )}
          {can("oncall.override") && (
            <Button
              size="xs"
              variant="default"
              leftSection={<UserRoundCheck size={13} />}
              onClick={onOverride}
            >
              {t("oncall.addOverride")}
            </Button>
          )}
          {can("oncall.manage") && (
            <Button size="xs" variant="default" leftSection={<Pencil size={13} />} onClick={onEdit}>
              {t("oncall.edit")}
            </Button>
          )}
        </span>
      }
    >
      <div className={classes.stack}>
        <div className={classes.currentShifts}>
          {rotation.now.length > 0 ? (
            rotation.now.map((shift) => <CurrentShift key={`${shift.who} ${shift.level}`} shift={shift} />)
          ) : (
            <StatusIcon tone="bad">{t("oncall.unstaffed")}</StatusIcon>
          )}
          {rotation.next && <NextShift shift={rotation.next} />}
        </div>
        <p className={classes.hint}>
          <RotationSource rotation={rotation} />
          {rotation.fetched_at && (
            <>
              {" "}
              {t("oncall.fetched")} <RelativeTime at={rotation.fetched_at} />
            </>
          )}
        </p>
        {rotation.failure && <StatusIcon tone="warn">{formatMessage(rotation.failure)}</StatusIcon>}
        <ErrorLine error={fetch.error} />
        <ShiftCalendar shifts={rotation.shifts} label={t("oncall.weeks", { name: rotation.name })} />
        {rotation.overrides.length > 0 && <Overrides rotation={rotation} />}
      </div>
    </Panel>
  );
}

/** Current shift with the person's role; on-call status does not change permissions. */
function CurrentShift({ shift }: { shift: Shift }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <span>
      <span className={classes.person}>{shift.who}</span>{" "}
      {shift.person ? (
        <span className="dim">{t(`role.${shift.person.role}`)}</span>
      ) : (
        <StatusIcon tone="warn">{t("oncall.noAccount")}</StatusIcon>
      )}{" "}
      {shift.person?.disabled && <StatusIcon tone="bad">{t("oncall.disabled")}</StatusIcon>}{" "}
      {shift.level > 1 && <span className="dim">{t("oncall.level", { level: shift.level })}</span>}{" "}
      {shift.source === "override" && <StatusIcon tone="warn">{t("oncall.sources.override")}</StatusIcon>}{" "}
      {shift.end && <span className="num dim">{t("oncall.until", { at: time.iso(shift.end) })}</span>}
    </span>
  );
}

function NextShift({ shift }: { shift: Shift }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <span className="dim">
      {t("oncall.next")} <strong>{shift.who}</strong>{" "}
      <span className="num">{t("oncall.from", { at: time.iso(shift.start) })}</span>
    </span>
  );
}

function RotationSource({ rotation }: { rotation: Rotation }) {
  const { t } = useTranslation();
  const { kind, source } = rotation;
  if (kind === "simple")
    return t("oncall.source.simple", {
      count: rotation.days,
      handover: rotation.handover,
      zone: rotation.zone,
      people: rotation.people.map((person) => person.name).join(" → "),
    });
  const where = String(source.server ?? source.file ?? "");
  return where ? t(`oncall.source.${kind}`, { where }) : t("oncall.source.none");
}

function Overrides({ rotation }: { rotation: Rotation }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const can = usePermission();
  const drop = useAction(
    (id: string) => remove(`/rotations/${rotation.id}/overrides/${id}`),
    [scheduleKeys.oncall],
  );
  return (
    <>
      <ErrorLine error={drop.error} />
      <DataTable stack label={t("oncall.overrides")}>
        <thead>
          <tr>
            <th>{t("oncall.overrides")}</th>
            <th>{t("maintenance.from")}</th>
            <th>{t("maintenance.until")}</th>
            <th>{t("captures.reason")}</th>
            <th>
              <span className="visually-hidden">{t("oncall.endOverride")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rotation.overrides.map((override) => (
            <tr key={override.id}>
              <td>{override.person?.name ?? "–"}</td>
              <td className="num">{time.iso(override.starts_at)}</td>
              <td className="num">{time.iso(override.ends_at)}</td>
              <td>{override.reason}</td>
              <td className="right">
                {can("oncall.override") && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={drop.isPending && drop.variables === override.id}
                    onClick={() => drop.mutate(override.id)}
                  >
                    {t("oncall.endOverride")}
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

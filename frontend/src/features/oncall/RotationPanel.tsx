import { Button } from "@mantine/core";
import { Pencil, RotateCw, UserRoundCheck } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Rotation, Turn } from "../../client/schedules";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { ErrorLine } from "../../components/States";
import { useSentence } from "../../lib/i18n";
import { post, remove, useAction, useMay } from "../../lib/queries";
import { scheduleKeys } from "../../lib/schedules";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./oncall.module.css";
import { Weeks } from "./Weeks";

interface Props {
  rotation: Rotation;
  onEdit: () => void;
  onTake: () => void;
}

/** One rotation: who is on call, who is next, four weeks of turns, and who takes over when. */
export function RotationPanel({ rotation, onEdit, onTake }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const sentence = useSentence();
  const fetch = useAction(() => post<Rotation>(`/rotations/${rotation.id}/fetch`), [scheduleKeys.oncall]);
  return (
    <Panel
      title={rotation.name}
      aside={
        <span className={classes.buttons}>
          {may("oncall.override") && rotation.has_secret && (
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
          {may("oncall.override") && (
            <Button size="xs" variant="default" leftSection={<UserRoundCheck size={13} />} onClick={onTake}>
              {t("oncall.take")}
            </Button>
          )}
          {may("oncall.manage") && (
            <Button size="xs" variant="default" leftSection={<Pencil size={13} />} onClick={onEdit}>
              {t("oncall.edit")}
            </Button>
          )}
        </span>
      }
    >
      <div className={classes.stack}>
        <div className={classes.now}>
          {rotation.now.length > 0 ? (
            rotation.now.map((one) => <OnDuty key={`${one.who} ${one.level}`} turn={one} />)
          ) : (
            <Mark tone="bad">{t("oncall.nobody")}</Mark>
          )}
          {rotation.next && <NextUp turn={rotation.next} />}
        </div>
        <p className={classes.hint}>
          <Origin rotation={rotation} />
          {rotation.fetched_at && (
            <>
              {" "}
              {t("oncall.fetched")} <Ago at={rotation.fetched_at} />
            </>
          )}
        </p>
        {rotation.failure && <Mark tone="warn">{sentence(rotation.failure)}</Mark>}
        <ErrorLine error={fetch.error} />
        <Weeks turns={rotation.turns} label={t("oncall.weeks", { name: rotation.name })} />
        {rotation.overrides.length > 0 && <Overrides rotation={rotation} />}
      </div>
    </Panel>
  );
}

/** Somebody who is on call: what they may do follows from their role alone. */
function OnDuty({ turn }: { turn: Turn }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <span>
      <span className={classes.who}>{turn.who}</span>{" "}
      {turn.person ? (
        <span className="dim">{t(`role.${turn.person.role}`)}</span>
      ) : (
        <Mark tone="warn">{t("oncall.noAccount")}</Mark>
      )}{" "}
      {turn.person?.disabled && <Mark tone="bad">{t("oncall.disabled")}</Mark>}{" "}
      {turn.level > 1 && <span className="dim">{t("oncall.level", { level: turn.level })}</span>}{" "}
      {turn.how === "override" && <Mark tone="warn">{t("oncall.how.override")}</Mark>}{" "}
      {turn.end && <span className="num dim">{t("oncall.until", { at: time.iso(turn.end) })}</span>}
    </span>
  );
}

function NextUp({ turn }: { turn: Turn }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <span className="dim">
      {t("oncall.next")} <strong>{turn.who}</strong>{" "}
      <span className="num">{t("oncall.from", { at: time.iso(turn.start) })}</span>
    </span>
  );
}

function Origin({ rotation }: { rotation: Rotation }) {
  const { t } = useTranslation();
  const { kind, source } = rotation;
  if (kind === "simple")
    return t("oncall.origin.simple", {
      count: rotation.days,
      handover: rotation.handover,
      zone: rotation.zone,
      people: rotation.people.map((one) => one.name).join(" → "),
    });
  const where = String(source.server ?? source.file ?? "");
  return where ? t(`oncall.origin.${kind}`, { where }) : t("oncall.origin.none");
}

function Overrides({ rotation }: { rotation: Rotation }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const may = useMay();
  const drop = useAction(
    (id: string) => remove(`/rotations/${rotation.id}/overrides/${id}`),
    [scheduleKeys.oncall],
  );
  return (
    <>
      <ErrorLine error={drop.error} />
      <Grid stack label={t("oncall.overrides")}>
        <thead>
          <tr>
            <th>{t("oncall.overrides")}</th>
            <th>{t("maintenance.from")}</th>
            <th>{t("maintenance.until")}</th>
            <th>{t("captures.reason")}</th>
            <th>
              <span className="visually-hidden">{t("oncall.giveBack")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rotation.overrides.map((one) => (
            <tr key={one.id}>
              <td>{one.person?.name ?? "–"}</td>
              <td className="num">{time.iso(one.starts_at)}</td>
              <td className="num">{time.iso(one.ends_at)}</td>
              <td>{one.reason}</td>
              <td className="right">
                {may("oncall.override") && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={drop.isPending && drop.variables === one.id}
                    onClick={() => drop.mutate(one.id)}
                  >
                    {t("oncall.giveBack")}
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

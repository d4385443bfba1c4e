import { useTranslation } from "react-i18next";
import type { Cadence, Schedule } from "../../client/schedules";
import { Ago } from "../../components/Ago";
import { Grid, rowLink } from "../../components/Grid";
import { Mark, Tag, TierTag, type Tone } from "../../components/Mark";
import { useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { Strip } from "./Strip";
import classes from "./schedules.module.css";

const TONES: Record<Schedule["state"], Tone> = { active: "ok", paused: "off", done: "idle" };

/** The fields, or the one time. */
export const whenOf = (cadence: Cadence): string =>
  cadence.kind === "cron" ? cadence.cron : cadence.wall.slice(0, 16).replace("T", " ");

/** What fits on a screen; of more, the list scrolls inside itself, so that what one of them opens stays in sight. */
export const FEW = 14;
const MOST_PX = 460;

/** Whether each word stands somewhere in what its row shows. */
export function fits(one: Schedule, words: string): boolean {
  const labels = Object.entries(one.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const told = [one.name, whenOf(one.cadence), one.cadence.zone, one.wanted.plan, one.owner.name, ...labels];
  const text = [...told, ...one.hosts.map((host) => host.name)].join("\n").toLowerCase();
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

/** One row for each schedule: when, what, where, what is next, and what became of the last due times. */
export function SchedulesTable({ schedules, chosen, onChoose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const sentence = useSentence();
  return (
    <Grid stack label={t("schedules.title")} {...(schedules.length > FEW ? { maxHeight: MOST_PX } : {})}>
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
        {schedules.map((one) => (
          <tr key={one.id} className={rowLink(one.id === chosen)}>
            <td>
              <button
                type="button"
                className={classes.name}
                aria-pressed={one.id === chosen}
                onClick={() => onChoose(one.id === chosen ? "" : one.id)}
              >
                {one.name}
              </button>{" "}
              {one.state !== "active" && (
                <Mark tone={TONES[one.state]}>{t(`schedules.state.${one.state}`)}</Mark>
              )}{" "}
              {one.refusal && (
                <Mark tone="bad" title={sentence(one.refusal)}>
                  {t("schedules.refusedNow")}
                </Mark>
              )}
            </td>
            <td>
              <span className="mono">{whenOf(one.cadence)}</span>{" "}
              <span className="dim">{one.cadence.zone}</span>
            </td>
            <td>
              {names.plan(one.wanted.plan)} <TierTag tier={one.tier} />
            </td>
            <td>
              <span className={classes.tags}>
                {one.labels
                  ? Object.entries(one.labels).map(([name, value]) => (
                      <Tag key={name}>
                        {name}={value}
                      </Tag>
                    ))
                  : one.hosts.slice(0, 3).map((host) => <Tag key={host.id}>{host.name}</Tag>)}
                <span className="num dim">{t("schedules.matching", { count: one.matching })}</span>
              </span>
            </td>
            <td>
              <Ago at={one.next_due} />{" "}
              {one.upcoming[0]?.window && (
                <Mark tone="off" title={one.upcoming[0].window.reason}>
                  {t("schedules.held")}
                </Mark>
              )}
            </td>
            <td>
              <Strip schedule={one} />
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

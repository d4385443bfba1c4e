import type { Incident } from "../../../client/models";
import { formatSeconds } from "../../../core/text/format";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { INCIDENT_STATES } from "../api";
import classes from "./Answer.module.css";

/** Start of the symptom, and the time from then until each state was reached. */
export function IncidentTimes({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const began = incident.symptom.since ?? incident.window.from;
  const reached = new Map(incident.times.map((item) => [item.state, item.at]));
  return (
    <ol className={classes.times} aria-label={t("incidents.answer.times")}>
      <li>
        <span className="dim">{t("incidents.answer.symptomSince")}</span>{" "}
        <span className="num">{time.iso(began)}</span>
      </li>
      {INCIDENT_STATES.map((state) => {
        const at = reached.get(state);
        const after = at ? (Date.parse(at) - Date.parse(began)) / 1000 : 0;
        return (
          <li
            key={state}
            className={state === incident.state ? classes.current : undefined}
            aria-current={state === incident.state ? "step" : undefined}
          >
            <span className={at ? undefined : "dim"}>{t(`incidents.state.${state}`)}</span>{" "}
            {at && (
              <span className="num" title={time.iso(at)}>
                {after >= 0 ? `+${formatSeconds(Math.round(after))}` : time.iso(at)}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

import type { Incident } from "../../../client/models";
import { EmptyState } from "../../../components/EmptyState";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PinItem } from "../../../widgets/pins/PinItem";
import { type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./Evidence.module.css";

/** All pins, newest first; each links to its source view and shows whether the source is unchanged. */
export function PinsPanel({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  if (incident.pins.length === 0)
    return <EmptyState title={t("incidents.pin.none")}>{t("incidents.pin.noneText")}</EmptyState>;
  return (
    <ul className={`${classes.list} ${classes.evidence}`}>
      {[...incident.pins]
        .sort((a, b) => b.created_at.localeCompare(a.created_at))
        .map((pin) => {
          const step = incident.steps.find((each) => each.key === pin.step);
          return (
            <PinItem
              key={pin.id}
              incident={incident}
              pin={pin}
              action={
                step && (
                  <button type="button" className={classes.mute} onClick={() => view.choose(step.key)}>
                    {stepNumber(view, step.key)} {localize(step.question)}
                  </button>
                )
              }
            />
          );
        })}
    </ul>
  );
}

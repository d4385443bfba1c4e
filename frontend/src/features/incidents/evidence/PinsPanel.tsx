import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Empty } from "../../components/States";
import { usePick } from "../../lib/i18n";
import { PinItem } from "../../renderers/incident/PinItem";
import classes from "./Evidence.module.css";
import { type IncidentView, numberOf } from "./view";

/** Everything that was pinned: each opens the view that it was taken from, and says whether it still is what it was. */
export function Pins({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const pick = usePick();
  if (incident.pins.length === 0)
    return <Empty title={t("incidents.pin.none")}>{t("incidents.pin.noneText")}</Empty>;
  return (
    <ul className={`${classes.list} ${classes.evidence}`}>
      {[...incident.pins]
        .sort((a, b) => b.created_at.localeCompare(a.created_at))
        .map((one) => {
          const step = incident.steps.find((each) => each.key === one.step);
          return (
            <PinItem
              key={one.id}
              incident={incident}
              pin={one}
              action={
                step && (
                  <button type="button" className={classes.mute} onClick={() => view.choose(step.key)}>
                    {numberOf(view, step.key)} {pick(step.asks)}
                  </button>
                )
              }
            />
          );
        })}
    </ul>
  );
}

import type { Incident } from "../../../client/models";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentStep } from "../api";
import classes from "./Evidence.module.css";

/** Waiver of a step: the user and the reason. */
export function WaiverNote({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  if (!step.waived) return null;
  return (
    <p className={classes.waived}>
      {t("incidents.step.waivedBy", {
        name: step.waived.by?.name ?? incident.origin?.authors[step.key] ?? "–",
        reason: step.waived.reason,
      })}
    </p>
  );
}

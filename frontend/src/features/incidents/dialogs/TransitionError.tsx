import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { ApiError } from "../../../lib/api";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { useIncidentText } from "../page/useIncidentText";
import { OpenStepsPanel } from "./OpenStepsPanel";

interface Props {
  incident: Incident;
  error: unknown;
  onStep?: (key: string) => void;
}

const STEPS_OPEN_KEY = "incident.steps_open";

/** Error of a request; if open steps block a state change, a list to answer, waive or dismiss them. */
export function TransitionError({ incident, error, onStep }: Props) {
  const { t } = useTranslation();
  const words = useIncidentText(incident);
  if (!error) return null;
  const open = error instanceof ApiError && error.sentence?.key === STEPS_OPEN_KEY;
  return (
    <div className={classes.refusal}>
      {open ? (
        <p className={classes.refused} role="alert">
          {words(error.sentence)}
        </p>
      ) : (
        <ErrorLine error={error} />
      )}
      {open && incident.gaps.length === 0 && <p>{t("incidents.refusal.noneLeft")}</p>}
      {open && <OpenStepsPanel incident={incident} {...(onStep ? { onStep } : {})} />}
    </div>
  );
}

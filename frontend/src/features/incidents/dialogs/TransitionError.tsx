import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { ErrorLine } from "../../components/States";
import { ApiError } from "../../lib/api";
import classes from "./Incidents.module.css";
import { OpenSteps } from "./OpenSteps";
import { useWords } from "./useWords";

interface Props {
  incident: Incident;
  error: unknown;
  onStep?: (key: string) => void;
}

const STEPS_OPEN = "incident.steps_open";

/** What the server refused, in its words; open steps by playbook, to be answered, or waived or set aside here. */
export function Refusal({ incident, error, onStep }: Props) {
  const { t } = useTranslation();
  const words = useWords(incident);
  if (!error) return null;
  const open = error instanceof ApiError && error.sentence?.key === STEPS_OPEN;
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
      {open && <OpenSteps incident={incident} {...(onStep ? { onStep } : {})} />}
    </div>
  );
}

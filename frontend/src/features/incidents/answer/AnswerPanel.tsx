import type { Incident } from "../../../client/models";
import { BlockSkeleton, QueryContent } from "../../../components/EmptyState";
import { useDiagnosis } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentView } from "../page/useIncidentView";
import classes from "./Answer.module.css";
import { AnswerCard } from "./AnswerCard";
import { chooseDiagnosis, chooseHarmDiagnosis } from "./chooseDiagnosis";
import { DecidedCause } from "./DecidedCause";
import { DecidedHarm } from "./DecidedHarm";
import { DiagnoseHost } from "./DiagnoseHost";
import { DiagnosisProgress } from "./DiagnosisProgress";
import { IncidentTimes } from "./IncidentTimes";
import { OwnerMenu } from "./OwnerMenu";

interface Props {
  incident: Incident;
  view: IncidentView;
}

/**
 * First panel of the page: accepted causes with harm and fixes, else the result of a diagnosis, else the button that
 * starts a diagnosis. A running diagnosis is always visible.
 */
export function AnswerPanel({ incident, view }: Props) {
  const { t } = useTranslation();
  const rejected = new Set(incident.rejected_causes.map((item) => item.cause));
  const decided = incident.causes.filter((item) => !item.cause || !rejected.has(item.cause));
  const chosen = chooseDiagnosis(incident.diagnoses);
  const harmed = chooseHarmDiagnosis(incident);
  const isDiagnosed = chosen && (decided.length === 0 || chosen.state === "running");
  return (
    <section className={classes.panel} aria-label={t("incidents.answer.title")}>
      {decided.map((cause, i) => (
        <DecidedCause
          key={cause.hypothesis}
          incident={incident}
          view={view}
          cause={cause}
          // Causes share the harm.
          harm={i === 0 && harmed && <DecidedHarm diagnosisId={harmed.id} />}
        />
      ))}
      {isDiagnosed && <ChosenDiagnosis key={chosen.id} incident={incident} view={view} id={chosen.id} />}
      {!chosen && decided.length === 0 && incident.state !== "resolved" && (
        <DiagnoseHost incident={incident} />
      )}
      <div className={classes.footer}>
        <OwnerMenu incident={incident} />
        <IncidentTimes incident={incident} />
      </div>
    </section>
  );
}

function ChosenDiagnosis({ incident, view, id }: Props & { id: string }) {
  const query = useDiagnosis(id);
  return (
    <QueryContent query={query} skeleton={<BlockSkeleton height={120} />}>
      {(diagnosis) =>
        diagnosis.state === "running" ? (
          <DiagnosisProgress incident={incident} diagnosis={diagnosis} />
        ) : (
          <AnswerCard incident={incident} view={view} diagnosis={diagnosis} />
        )
      }
    </QueryContent>
  );
}

import type { Incident } from "../../../client/models";
import { Link } from "../../../components/Link";
import { RunStateIcon } from "../../../components/StatusIcon";
import { VERDICT_STATES, VerdictIcon } from "../../../components/VerdictIcon";
import { toFigures } from "../../../core/text/figures";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./NextStep.module.css";

const FINISHED_STATES = new Set(["done", "partial"]);

interface Props {
  incident: Incident;
  view: IncidentView;
  step: string;
  host: string;
  /** ID of the run of this step. */
  run: string;
}

/** Result of the last step that ran: the state of its run, then the verdict with a number or a reason. */
export function StepResult({ incident, view, step: key, host, run }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  const step = incident.steps.find((step) => step.key === key);
  const answer = step?.hosts.find((answer) => answer.host_id === host);
  if (!step || !answer) return null;
  const stepRun = incident.runs.find((item) => item.run_id === run);
  if (answer.run_id !== run)
    return (
      <p className={classes.result} role="status">
        <span>
          {stepNumber(view, key)} · {localize(step.question)}
        </span>
        {stepRun && <RunStateIcon state={stepRun.state} />}
        {FINISHED_STATES.has(stepRun?.state ?? "") && <span>{t("diagnosis.deciding")}</span>}
        <Link to="/runs/$runId" params={{ runId: run }}>
          {t("diagnosis.run")}
        </Link>
      </p>
    );
  const [figure] = answer.findings.flatMap(toFigures);
  const why = figure
    ? `${names.measure(figure.measure, figure.rule)} ${formatQuantity(figure.value, figure.unit)}`
    : formatMessage(names.reason(answer.reason));
  return (
    <p className={classes.result} role="status">
      <VerdictIcon verdict={VERDICT_STATES[answer.verdict]} />
      <span>
        {stepNumber(view, key)} · {localize(step.question)}
      </span>
      <strong>{t(`playbooks.verdict.${answer.verdict}`)}</strong>
      {why && <span className="num">{why}</span>}
      <button
        type="button"
        className={classes.question}
        onClick={() => view.set({ step: key, host, pane: "evidence" })}
      >
        {t("incidents.next.show")}
      </button>
    </p>
  );
}

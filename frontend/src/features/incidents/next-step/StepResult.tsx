import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Link } from "../../components/Link";
import { StateMark } from "../../components/Mark";
import { LOOKS, Verdict } from "../../components/Verdict";
import { figuresOf } from "../../core/figures";
import { quantity } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import classes from "./Next.module.css";
import { type IncidentView, numberOf } from "./view";

const HOME = new Set(["done", "partial"]);

interface Props {
  incident: Incident;
  view: IncidentView;
  step: string;
  host: string;
  /** The run that was taken for it. */
  run: string;
}

/** What came of the step that ran here last. */
export function StepResult({ incident, view, step: key, host, run }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const step = incident.steps.find((one) => one.key === key);
  const answer = step?.hosts.find((one) => one.host_id === host);
  if (!step || !answer) return null;
  const came = incident.runs.find((one) => one.run_id === run);
  if (answer.run_id !== run)
    return (
      <p className={classes.result} role="status">
        <span>
          {numberOf(view, key)} · {pick(step.asks)}
        </span>
        {came && <StateMark state={came.state} />}
        {HOME.has(came?.state ?? "") && <span>{t("diagnosis.deciding")}</span>}
        <Link to="/runs/$runId" params={{ runId: run }}>
          {t("diagnosis.run")}
        </Link>
      </p>
    );
  const [figure] = answer.findings.flatMap(figuresOf);
  const why = figure
    ? `${names.measure(figure.measure, figure.rule)} ${quantity(figure.value, figure.unit)}`
    : sentence(names.reason(answer.reason));
  return (
    <p className={classes.result} role="status">
      <Verdict look={LOOKS[answer.verdict]} />
      <span>
        {numberOf(view, key)} · {pick(step.asks)}
      </span>
      <strong>{t(`playbooks.verdict.${answer.verdict}`)}</strong>
      {why && <span className="num">{why}</span>}
      <button
        type="button"
        className={classes.asks}
        onClick={() => view.set({ step: key, host, pane: "evidence" })}
      >
        {t("incidents.next.show")}
      </button>
    </p>
  );
}

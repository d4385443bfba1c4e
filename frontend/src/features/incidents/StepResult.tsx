import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { LOOKS, Verdict } from "../../components/Verdict";
import { figuresOf } from "../../core/figures";
import { quantity } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import classes from "./Next.module.css";
import { type IncidentView, numberOf } from "./view";

interface Props {
  incident: Incident;
  view: IncidentView;
  step: string;
  host: string;
}

/** What came of the step that ran here last. */
export function StepResult({ incident, view, step: key, host }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const step = incident.steps.find((one) => one.key === key);
  const answer = step?.hosts.find((one) => one.host_id === host);
  if (!step || !answer) return null;
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
      <button type="button" className={classes.asks} onClick={() => view.set({ step: key, host, pane: "evidence" })}>
        {t("incidents.next.show")}
      </button>
    </p>
  );
}

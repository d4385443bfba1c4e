import { useTranslation } from "react-i18next";
import type { Incident, IncidentHypothesis, IncidentStep } from "../../client/incidents";
import { LOOKS, type Look, Verdict } from "../../components/Verdict";
import { isSplit } from "../../core/chain";
import { cx } from "../../core/cx";
import { usePick } from "../../lib/i18n";
import { PlayTag } from "./Aside";
import classes from "./Chain.module.css";
import { ChainEnd } from "./ChainEnd";
import { HypothesisState } from "./HypothesisState";
import { playbookOf } from "./play";
import { SymptomFacts } from "./Symptom";
import { branchesOf, type IncidentView, numberOf } from "./view";

interface Props {
  incident: Incident;
  view: IncidentView;
}

const STANDINGS: Record<IncidentHypothesis["standing"], Look> = {
  open: "absent",
  supported: "supports",
  refuted: "refutes",
  contested: "inconclusive",
};

/** From the symptom down to the proof. What is missing on the way is the loudest thing in it. */
export function Chain({ incident, view }: Props) {
  const { t } = useTranslation();
  return (
    <ol className={classes.chain} aria-label={t("incidents.chain.title")}>
      <li className={cx(classes.link, classes.begin)}>
        <span className={classes.node} aria-hidden />
        <h3 className={classes.title}>{t("incidents.chain.symptom")}</h3>
        <SymptomFacts symptom={incident.symptom} />
      </li>
      {branchesOf(incident).map(({ hypothesis, steps }) => (
        <li key={hypothesis?.key ?? "gates"} className={classes.link} data-standing={hypothesis?.standing}>
          <span className={classes.node} aria-hidden>
            <Verdict look={hypothesis ? STANDINGS[hypothesis.standing] : "context"} />
          </span>
          {hypothesis ? (
            <HypothesisHead incident={incident} view={view} hypothesis={hypothesis} />
          ) : (
            <h3 className={classes.title}>{t("incidents.chain.gates")}</h3>
          )}
          {steps.length > 0 && (
            <ol className={classes.steps}>
              {steps.map((step) => (
                <Step key={step.key} incident={incident} view={view} step={step} />
              ))}
            </ol>
          )}
        </li>
      ))}
      {incident.steps.length === 0 && (
        <li className={cx(classes.link, classes.missing)}>
          <span className={classes.node} aria-hidden>
            <Verdict look="absent" />
          </span>
          <p className={classes.title}>{t("incidents.chain.noPlaybook")}</p>
          <button type="button" className={classes.act} onClick={() => view.set({ act: "hosts" })}>
            {t("incidents.hosts.addPlaybook")}
          </button>
        </li>
      )}
      <ChainEnd incident={incident} view={view} />
    </ol>
  );
}

function HypothesisHead({ incident, view, hypothesis }: Props & { hypothesis: IncidentHypothesis }) {
  const { t } = useTranslation();
  const pick = usePick();
  const at = incident.hypotheses.findIndex((one) => one.key === hypothesis.key) + 1;
  const numbers = (keys: readonly string[]) =>
    keys
      .map((key) => numberOf(view, key))
      .filter((n) => n > 0)
      .join(", ");
  return (
    <div className={classes.hypothesis}>
      <h3 className={classes.title}>
        <span className={classes.sign}>H{at}</span>{" "}
        <span className={classes.says}>{pick(hypothesis.says)}</span>
      </h3>
      <div className={classes.stand}>
        <span>{t(`playbooks.standing.${hypothesis.standing}`)}</span>
        {hypothesis.supports.length > 0 && (
          <span>{t("playbooks.for", { numbers: numbers(hypothesis.supports) })}</span>
        )}
        {hypothesis.refutes.length > 0 && (
          <span>{t("playbooks.against", { numbers: numbers(hypothesis.refutes) })}</span>
        )}
        <PlayTag playbook={playbookOf(incident, hypothesis.key)} />
        <HypothesisState incident={incident} view={view} hypothesis={hypothesis} />
      </div>
    </div>
  );
}

interface StepProps extends Props {
  step: IncidentStep;
}

function Step({ incident, view, step }: StepProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const gap = incident.gaps.includes(step.key);
  const next = incident.next?.step === step.key;
  const chosen = view.step?.key === step.key;
  const split = isSplit(step.hosts);
  const disagree = split || step.hosts.some((one) => one.disagrees);
  const look = split ? "inconclusive" : LOOKS[step.verdict];
  return (
    <li
      className={cx(
        classes.step,
        gap && classes.gap,
        next && classes.next,
        chosen && classes.chosen,
        !step.on_path && classes.aside,
      )}
    >
      <button
        type="button"
        id={`step-${step.key}`}
        className={classes.stepButton}
        aria-current={chosen ? "step" : undefined}
        onClick={() => view.choose(step.key)}
      >
        <Verdict look={look} label={t(`playbooks.verdict.${step.verdict}`)} />
        <span className={classes.number}>{numberOf(view, step.key)}</span>
        <span className={cx(classes.asks, look === "refutes" && classes.struck)}>{pick(step.asks)}</span>
        {gap && <strong className={classes.loud}>{t("playbooks.gap")}</strong>}
        {next && <span className={classes.tag}>{t("playbooks.next")}</span>}
        {disagree && <span className={classes.warn}>{t("incidents.step.disagree")}</span>}
        {step.waived && <span className={classes.tag}>{t("incidents.step.waived")}</span>}
        {step.hosts.length > 1 && <Dots incident={incident} step={step} />}
      </button>
    </li>
  );
}

/** One sign for each host, in the order of the incident's hosts. */
function Dots({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  const name = (id: string) => incident.hosts.find((one) => one.id === id)?.name ?? "";
  const text = step.hosts
    .map((one) => `${name(one.host_id)}: ${t(`playbooks.verdict.${one.verdict}`)}`)
    .join("\n");
  return (
    <span className={classes.dots} title={text}>
      {step.hosts.slice(0, 8).map((one) => (
        <Verdict key={one.host_id} look={LOOKS[one.verdict]} />
      ))}
      {step.hosts.length > 8 && <span className="num">+{step.hosts.length - 8}</span>}
    </span>
  );
}

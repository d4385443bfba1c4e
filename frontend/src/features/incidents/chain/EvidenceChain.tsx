import { VisuallyHidden } from "@mantine/core";
import { useState } from "react";
import type { Incident } from "../../../client/models";
import { VERDICT_STATES, VerdictIcon, type VerdictState } from "../../../components/VerdictIcon";
import { cx } from "../../../core/cx";
import { isContradicted, limitBranches } from "../../../core/incidents/chain";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentHypothesis, IncidentStep } from "../api";
import { SymptomFacts } from "../page/SymptomLevels";
import { type IncidentView, listBranches, stepNumber } from "../page/useIncidentView";
import { CausesAndFixes } from "./CausesAndFixes";
import classes from "./EvidenceChain.module.css";
import { HypothesisStateMenu } from "./HypothesisStateMenu";
import { PlaybookStateTag } from "./PlaybookStateTag";
import { findPlaybook } from "./playbookState";

interface Props {
  incident: Incident;
  view: IncidentView;
}

const HYPOTHESIS_STATES: Record<IncidentHypothesis["status"], VerdictState> = {
  open: "absent",
  supported: "supports",
  refuted: "refutes",
  contested: "inconclusive",
};

/** Evidence chain from the symptom to the verified fix; the next missing step is highlighted. */
export function EvidenceChain({ incident, view }: Props) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const branches = listBranches(incident);
  const decided = new Set(incident.causes.map((cause) => cause.hypothesis));
  const visible = isOpen
    ? branches
    : limitBranches(
        branches,
        ({ hypothesis, steps }) =>
          !hypothesis ||
          decided.has(hypothesis.key) ||
          steps.some((step) => step.key === view.step?.key || step.key === incident.next?.step),
      );
  const hidden = branches.length - visible.length;
  return (
    <ol className={classes.chain} aria-label={t("incidents.chain.title")}>
      <li className={cx(classes.link, classes.start)}>
        <span className={classes.node} aria-hidden />
        <h3 className={classes.title}>{t("incidents.chain.symptom")}</h3>
        <SymptomFacts symptom={incident.symptom} />
      </li>
      {visible.map(({ hypothesis, steps }) => (
        <li key={hypothesis?.key ?? "gates"} className={classes.link} data-status={hypothesis?.status}>
          <span className={classes.node} aria-hidden>
            <VerdictIcon verdict={hypothesis ? HYPOTHESIS_STATES[hypothesis.status] : "context"} />
          </span>
          {hypothesis ? (
            <HypothesisHeader incident={incident} view={view} hypothesis={hypothesis} />
          ) : (
            <h3 className={classes.title}>{t("incidents.chain.gates")}</h3>
          )}
          {steps.length > 0 && (
            <ol className={classes.steps}>
              {steps.map((step) => (
                <StepItem key={step.key} incident={incident} view={view} step={step} />
              ))}
            </ol>
          )}
        </li>
      ))}
      {(hidden > 0 || isOpen) && (
        <li className={classes.link}>
          <button
            type="button"
            className={classes.actionButton}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? t("incidents.chain.fewer") : t("incidents.chain.more", { count: hidden })}
          </button>
        </li>
      )}
      {incident.steps.length === 0 && (
        <li className={cx(classes.link, classes.missing)}>
          <span className={classes.node} aria-hidden>
            <VerdictIcon verdict="absent" />
          </span>
          <p className={classes.title}>{t("incidents.chain.noPlaybook")}</p>
          <button
            type="button"
            className={classes.actionButton}
            onClick={() => view.set({ dialog: "hosts" })}
          >
            {t("incidents.hosts.addPlaybook")}
          </button>
        </li>
      )}
      <CausesAndFixes incident={incident} view={view} />
    </ol>
  );
}

function HypothesisHeader({ incident, view, hypothesis }: Props & { hypothesis: IncidentHypothesis }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const at = incident.hypotheses.findIndex((item) => item.key === hypothesis.key) + 1;
  const numbers = (keys: readonly string[]) =>
    keys
      .map((key) => stepNumber(view, key))
      .filter((n) => n > 0)
      .join(", ");
  return (
    <div className={classes.hypothesis}>
      <h3 className={classes.title}>
        <span className={classes.label}>H{at}</span>{" "}
        <span className={classes.summary}>{localize(hypothesis.summary)}</span>
      </h3>
      <div className={classes.status}>
        {hypothesis.supports.length > 0 && (
          <span>{t("playbooks.for", { numbers: numbers(hypothesis.supports) })}</span>
        )}
        {hypothesis.refutes.length > 0 && (
          <span>{t("playbooks.against", { numbers: numbers(hypothesis.refutes) })}</span>
        )}
        <PlaybookStateTag playbook={findPlaybook(incident, hypothesis.key)} />
        <HypothesisStateMenu incident={incident} view={view} hypothesis={hypothesis} />
      </div>
    </div>
  );
}

interface StepProps extends Props {
  step: IncidentStep;
}

function StepItem({ incident, view, step }: StepProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const gap = incident.gaps.includes(step.key);
  const next = incident.next?.step === step.key;
  const chosen = view.step?.key === step.key;
  const split = isContradicted(step.hosts);
  const disagree = split || step.hosts.some((answer) => answer.disagrees);
  const look = split ? "inconclusive" : VERDICT_STATES[step.verdict];
  return (
    <li
      className={cx(
        classes.step,
        gap && next && classes.gap,
        next && classes.next,
        chosen && classes.chosen,
        !step.on_path && classes.offPath,
      )}
    >
      <button
        type="button"
        id={`step-${step.key}`}
        className={classes.stepButton}
        aria-current={chosen ? "step" : undefined}
        onClick={() => view.choose(step.key)}
      >
        <VerdictIcon verdict={look} label={t(`playbooks.verdict.${step.verdict}`)} />
        <span className={classes.number}>{stepNumber(view, step.key)}</span>
        <span className={cx(classes.question, look === "refutes" && classes.refuted)}>
          {localize(step.question)}
        </span>
        {gap &&
          (next ? (
            <strong className={classes.nextGap}>{t("playbooks.gap")}</strong>
          ) : (
            <VisuallyHidden>{t("playbooks.gap")}</VisuallyHidden>
          ))}
        {next && <span className={classes.tag}>{t("playbooks.next")}</span>}
        {disagree && <span className={classes.warn}>{t("incidents.step.disagree")}</span>}
        {step.waived && <span className={classes.tag}>{t("incidents.step.waived")}</span>}
        {step.hosts.length > 1 && <HostDots incident={incident} step={step} />}
      </button>
    </li>
  );
}

/** Verdict icons of the first eight hosts, and the number of further hosts. */
function HostDots({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  const name = (id: string) => incident.hosts.find((host) => host.id === id)?.name ?? "";
  const text = step.hosts
    .map((answer) => `${name(answer.host_id)}: ${t(`playbooks.verdict.${answer.verdict}`)}`)
    .join("\n");
  return (
    <span className={classes.dots} title={text}>
      {step.hosts.slice(0, 8).map((answer) => (
        <VerdictIcon key={answer.host_id} verdict={VERDICT_STATES[answer.verdict]} />
      ))}
      {step.hosts.length > 8 && <span className="num">+{step.hosts.length - 8}</span>}
    </span>
  );
}

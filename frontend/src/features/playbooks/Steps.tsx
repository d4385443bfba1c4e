import type { DryRunResult, Playbook, StepAnswer } from "../../client/models";
import { Link } from "../../components/Link";
import { PlaybookText } from "../../components/text/PlaybookText";
import { VERDICT_STATES, VerdictIcon } from "../../components/VerdictIcon";
import { cx } from "../../core/cx";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { PlaybookStep } from "./api";
import { Branches } from "./Branches";
import { useHypothesisText, useStepsByKey } from "./branches";
import classes from "./Chain.module.css";
import { StepNumbers } from "./StepNumbers";

interface Props {
  playbook: Playbook;
  result: DryRunResult | undefined;
}

/** Steps of a playbook from top to bottom; after a dry run the path and its gaps are highlighted. */
export function Steps({ playbook, result }: Props) {
  const stepsByKey = useStepsByKey(result);
  const last = stepsByKey ? playbook.steps.findLastIndex((step) => stepsByKey.onPath.has(step.id)) : 0;
  return (
    <ol className={classes.steps}>
      {playbook.steps.map((step, i) => (
        <Step
          key={step.id}
          playbook={playbook}
          step={step}
          number={i + 1}
          answer={stepsByKey?.answers.get(step.id)}
          tried={stepsByKey !== undefined}
          onPath={stepsByKey?.onPath.has(step.id) ?? false}
          passed={stepsByKey !== undefined && i < last}
          gap={stepsByKey?.gaps.has(step.id) ?? false}
          proposed={result?.next?.step === step.id}
        />
      ))}
    </ol>
  );
}

interface StepProps {
  playbook: Playbook;
  step: PlaybookStep;
  number: number;
  answer: StepAnswer | undefined;
  tried: boolean;
  onPath: boolean;
  /** The path continues below this step. */
  passed: boolean;
  gap: boolean;
  proposed: boolean;
}

function Step({ playbook, step, number, answer, tried, onPath, passed, gap, proposed }: StepProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const about = useHypothesisText(playbook)(step.about);
  const isOffPath = tried && !onPath;
  return (
    <li
      id={`step-${step.id}`}
      tabIndex={-1}
      className={cx(
        classes.step,
        passed && classes.passed,
        onPath && classes.onPath,
        gap && classes.gap,
        isOffPath && classes.offPath,
      )}
    >
      <span className={classes.node} aria-hidden>
        {answer ? <VerdictIcon verdict={VERDICT_STATES[answer.verdict]} /> : number}
      </span>
      <h3 className={classes.question}>
        <span className={classes.number}>{number}</span> {localize(step.question)}{" "}
        <span className={classes.about} title={about.summary}>
          {about.label}
        </span>
        {proposed && <span className={classes.proposed}>{t("playbooks.next")}</span>}
      </h3>
      {answer && <AnswerLine answer={answer} gap={gap} person={!step.finding} />}
      <StepQuestion step={step} />
      {answer && answer.findings.length > 0 && <StepNumbers answer={answer} />}
      {!isOffPath && <Branches playbook={playbook} step={step} answer={onPath ? answer : undefined} />}
      {!isOffPath && (step.caveat || step.example) && (
        <dl className={classes.notes}>
          {step.caveat && (
            <div>
              <dt>{t("playbooks.caveat")}</dt>
              <dd>
                <PlaybookText text={step.caveat} />
              </dd>
            </div>
          )}
          {step.example && (
            <div>
              <dt>{t("playbooks.example")}</dt>
              <dd>
                <PlaybookText text={step.example} />
              </dd>
            </div>
          )}
        </dl>
      )}
    </li>
  );
}

/** Verdict with its reason; a gap is marked. */
function AnswerLine({ answer, gap, person }: { answer: StepAnswer; gap: boolean; person: boolean }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const unsettled = ({ verdict, by, findings }: StepAnswer) => {
    if (verdict !== "inconclusive" || by !== "rule") return "";
    return t(
      findings[0]?.state === "matched"
        ? "playbooks.notConclusive.matched"
        : "playbooks.notConclusive.not_matched",
    );
  };
  const why = answer.reason ? formatMessage(names.reason(answer.reason)) : unsettled(answer);
  return (
    <p className={classes.verdict}>
      {gap && <strong className={classes.missing}>{t("playbooks.gap")}</strong>}
      <span className={classes.verdictText}>
        {t(
          person && answer.by === "none" ? "playbooks.verdict.person" : `playbooks.verdict.${answer.verdict}`,
        )}
      </span>
      {why && !(person && answer.by === "none") && <span className={classes.reason}>{why}</span>}
    </p>
  );
}

/** Rule of a step with the verdicts of its states, or the instructions for a person. */
function StepQuestion({ step }: { step: PlaybookStep }) {
  const { t } = useTranslation();
  const names = useNames();
  if (!step.finding)
    return (
      <p className={classes.instructions}>
        <span className={classes.dim}>{t("playbooks.person")}</span> <PlaybookText text={step.instructions} />
      </p>
    );
  return (
    <p className={classes.meta}>
      <span>
        {t("playbooks.rule")}{" "}
        <Link to="/rules" search={{ rule: step.finding }} title={step.finding}>
          {names.rule(step.finding)}
        </Link>
      </span>
      <span>
        {t("playbooks.matched")} <VerdictIcon verdict={VERDICT_STATES[step.matched]} />{" "}
        {t(`playbooks.verdict.${step.matched}`)}
      </span>
      <span>
        {t("playbooks.not_matched")} <VerdictIcon verdict={VERDICT_STATES[step.not_matched]} />{" "}
        {t(`playbooks.verdict.${step.not_matched}`)}
      </span>
    </p>
  );
}

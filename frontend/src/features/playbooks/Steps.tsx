import { useTranslation } from "react-i18next";
import type { Playbook, PlaybookChain, PlaybookStep, StepAnswer } from "../../client/types";
import { Link } from "../../components/Link";
import { Prose } from "../../components/Prose";
import { LOOKS, Verdict } from "../../components/Verdict";
import { cx } from "../../core/cx";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import classes from "./Chain.module.css";
import { Found } from "./Found";
import { useAbout, useWalked } from "./reading";
import { Ways } from "./Ways";

interface Props {
  playbook: Playbook;
  chain: PlaybookChain | undefined;
}

/** The steps as a path from top to bottom. Tried on a run, the way that was gone is strong and its gaps are loud. */
export function Steps({ playbook, chain }: Props) {
  const walked = useWalked(chain);
  const last = walked ? playbook.steps.findLastIndex((one) => walked.onPath.has(one.id)) : 0;
  return (
    <ol className={classes.steps}>
      {playbook.steps.map((step, i) => (
        <Step
          key={step.id}
          playbook={playbook}
          step={step}
          number={i + 1}
          answer={walked?.answers.get(step.id)}
          tried={walked !== undefined}
          onPath={walked?.onPath.has(step.id) ?? false}
          passed={walked !== undefined && i < last}
          gap={walked?.gaps.has(step.id) ?? false}
          proposed={chain?.next?.step === step.id}
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
  /** The way goes on below it. */
  passed: boolean;
  gap: boolean;
  proposed: boolean;
}

function Step({ playbook, step, number, answer, tried, onPath, passed, gap, proposed }: StepProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const about = useAbout(playbook)(step.about);
  const aside = tried && !onPath;
  return (
    <li
      id={`step-${step.id}`}
      tabIndex={-1}
      className={cx(
        classes.step,
        passed && classes.passed,
        onPath && classes.onPath,
        gap && classes.gap,
        aside && classes.offPath,
      )}
    >
      <span className={classes.node} aria-hidden>
        {answer ? <Verdict look={LOOKS[answer.verdict]} /> : number}
      </span>
      <h3 className={classes.asks}>
        <span className={classes.number}>{number}</span> {pick(step.asks)}{" "}
        <span className={classes.about} title={about.says}>
          {about.sign}
        </span>
        {proposed && <span className={classes.proposed}>{t("playbooks.next")}</span>}
      </h3>
      {answer && <AnswerLine answer={answer} gap={gap} person={!step.finding} />}
      <Asked step={step} />
      {answer && answer.findings.length > 0 && <Found answer={answer} />}
      {!aside && <Ways playbook={playbook} step={step} answer={onPath ? answer : undefined} />}
      {!aside && (step.beware || step.seen) && (
        <dl className={classes.quiet}>
          {step.beware && (
            <div>
              <dt>{t("playbooks.beware")}</dt>
              <dd>
                <Prose text={step.beware} />
              </dd>
            </div>
          )}
          {step.seen && (
            <div>
              <dt>{t("playbooks.seen")}</dt>
              <dd>
                <Prose text={step.seen} />
              </dd>
            </div>
          )}
        </dl>
      )}
    </li>
  );
}

/** The verdict in words and why it is no better; a gap says first that it is one. */
function AnswerLine({ answer, gap, person }: { answer: StepAnswer; gap: boolean; person: boolean }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  const unsettled = ({ verdict, by, findings }: StepAnswer) => {
    if (verdict !== "inconclusive" || by !== "rule") return "";
    return t(findings[0]?.state === "fired" ? "playbooks.unsettled.fired" : "playbooks.unsettled.quiet");
  };
  const why = answer.reason ? sentence(names.reason(answer.reason)) : unsettled(answer);
  return (
    <p className={classes.verdict}>
      {gap && <strong className={classes.missing}>{t("playbooks.gap")}</strong>}
      <span className={classes.word}>
        {t(
          person && answer.by === "nobody"
            ? "playbooks.verdict.person"
            : `playbooks.verdict.${answer.verdict}`,
        )}
      </span>
      {why && !(person && answer.by === "nobody") && <span className={classes.reason}>{why}</span>}
    </p>
  );
}

/** Who answers: a rule, with what its firing and its silence mean, or a person, with where to look. */
function Asked({ step }: { step: PlaybookStep }) {
  const { t } = useTranslation();
  const names = useNames();
  if (!step.finding)
    return (
      <p className={classes.look}>
        <span className={classes.dim}>{t("playbooks.person")}</span> <Prose text={step.look} />
      </p>
    );
  return (
    <p className={classes.meta}>
      <span>
        {t("playbooks.rule")}{" "}
        <Link to="/rules" search={{ rule: step.finding } as never} title={step.finding}>
          {names.rule(step.finding)}
        </Link>
      </span>
      <span>
        {t("playbooks.fired")} <Verdict look={LOOKS[step.fired]} /> {t(`playbooks.verdict.${step.fired}`)}
      </span>
      <span>
        {t("playbooks.quiet")} <Verdict look={LOOKS[step.quiet]} /> {t(`playbooks.verdict.${step.quiet}`)}
      </span>
    </p>
  );
}

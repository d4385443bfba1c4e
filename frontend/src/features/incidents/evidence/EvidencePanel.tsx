import { Button } from "@mantine/core";
import type { Finding, Incident, StepVerdict } from "../../../client/models";
import { Collapsible } from "../../../components/Collapsible";
import { EmptyState } from "../../../components/EmptyState";
import { PlaybookText } from "../../../components/text/PlaybookText";
import { VERDICT_STATES, VerdictIcon, type VerdictState } from "../../../components/VerdictIcon";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { FindingRow } from "../../../widgets/findings/FindingRow";
import { PinItem } from "../../../widgets/pins/PinItem";
import type { HostAnswer, IncidentStep } from "../api";
import { HostPicker } from "../page/HostPicker";
import { findHypothesis, type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./Evidence.module.css";
import { MutedFindings } from "./MutedFindings";
import { PinSelectionButton } from "./PinSelectionButton";
import { RuleExplanation } from "./RuleExplanation";
import { StepViews } from "./StepViews";
import { VerdictNote } from "./VerdictNote";
import { WaiverNote } from "./WaiverNote";

interface Props {
  incident: Incident;
  view: IncidentView;
}

/** Selected step: question, verdict per host with its numbers, disagreements, source views and pins. */
export function EvidencePanel({ incident, view }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const { step, answer } = view;
  if (!step) return <EmptyState title={t("incidents.step.none")}>{t("incidents.step.noneText")}</EmptyState>;
  const about = findHypothesis(incident, step);
  const gap = incident.gaps.includes(step.key);
  return (
    <div className={classes.evidence}>
      <header className={classes.head}>
        <h2 className={classes.question}>
          <span className="num dim">{stepNumber(view, step.key)}</span> {localize(step.question)}{" "}
          <span className={classes.about} title={about ? localize(about.summary) : undefined}>
            {about?.sign ?? t(`playbooks.gate.${step.about as "symptom"}`, { defaultValue: step.about })}
          </span>
        </h2>
        <span className={classes.actions}>
          <PinSelectionButton incident={incident} view={view} />
          {incident.permissions.edit && (
            <Button size="compact-sm" variant="default" onClick={() => view.set({ dialog: "verdict" })}>
              {t("incidents.verdict.set")}
            </Button>
          )}
          {incident.permissions.edit && gap && (
            <Button size="compact-sm" variant="subtle" onClick={() => view.set({ dialog: "waive" })}>
              {t("incidents.step.waive")}
            </Button>
          )}
        </span>
      </header>
      {incident.hosts.length > 1 && <HostPicker incident={incident} view={view} verdicts />}
      <WaiverNote incident={incident} step={step} />
      {answer ? (
        <StepAnswer incident={incident} view={view} step={step} answer={answer} gap={gap} />
      ) : (
        <VerdictLine
          verdict="absent"
          word={t("playbooks.verdict.not_collected")}
          why={t("incidents.step.notEvaluated")}
        />
      )}
      <RuleExplanation step={step} />
      {step.instructions && (
        <p className={classes.instructions}>
          <span className="dim">{t("playbooks.person")}</span> <PlaybookText text={step.instructions} />
        </p>
      )}
      {answer && <StepViews answer={answer} />}
      <StepPins incident={incident} step={step} />
    </div>
  );
}

function VerdictLine({ verdict, word, why }: { verdict: VerdictState; word: string; why: string }) {
  return (
    <p className={classes.verdict} data-look={verdict}>
      <VerdictIcon verdict={verdict} /> <strong>{word}</strong>
      {why && <span className={classes.reason}>{why}</span>}
    </p>
  );
}

const MAX_FINDINGS = 3;
const FINDING_VERDICTS: Record<Finding["state"], VerdictState> = {
  matched: "supports",
  not_matched: "refutes",
  inconclusive: "inconclusive",
  not_evaluated: "absent",
};

const OPPOSITE: Partial<Record<StepVerdict, StepVerdict>> = { supports: "refutes", refutes: "supports" };

interface StepAnswerProps extends Props {
  step: IncidentStep;
  answer: HostAnswer;
  gap: boolean;
}

function StepAnswer({ incident, view, step, answer, gap }: StepAnswerProps) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const unsettled =
    answer.verdict === "inconclusive" && answer.by === "rule"
      ? t(
          answer.findings[0]?.state === "matched"
            ? "playbooks.notConclusive.matched"
            : "playbooks.notConclusive.not_matched",
        )
      : "";
  const why = answer.reason ? formatMessage(names.reason(answer.reason)) : unsettled;
  const waits = !step.finding && answer.by === "none";
  const opposite = step.hosts
    .filter((item) => item.verdict === OPPOSITE[answer.verdict])
    .map((answer) => answer.host_id);
  const visible = answer.findings.slice(0, MAX_FINDINGS);
  const rest = answer.findings.slice(MAX_FINDINGS);
  return (
    <>
      <VerdictLine
        verdict={VERDICT_STATES[answer.verdict]}
        word={`${gap ? `${t("playbooks.gap")}: ` : ""}${t(waits ? "playbooks.verdict.person" : `playbooks.verdict.${answer.verdict}`)}`}
        why={waits ? "" : why}
      />
      {answer.person && <VerdictNote incident={incident} answer={answer} person={answer.person} />}
      {opposite.length > 0 && (
        <p className={classes.disagrees}>
          {t("incidents.step.hostsDisagree", {
            hosts: incident.hosts.flatMap((host) => (opposite.includes(host.id) ? host.name : [])).join(", "),
          })}
        </p>
      )}
      {answer.disagrees && (
        <p className={classes.disagrees}>
          {answer.rule_verdict !== answer.verdict
            ? t("incidents.step.ruleVerdict", { verdict: t(`playbooks.verdict.${answer.rule_verdict}`) })
            : t("incidents.step.peopleDisagree")}
        </p>
      )}
      {visible.map((finding, i) => (
        <div key={`${finding.rule}${i}`} className={classes.finding}>
          <FindingRow finding={finding} verdict={FINDING_VERDICTS[finding.state]} />
          {incident.permissions.mute && finding.state === "matched" && (
            <button
              type="button"
              className={classes.mute}
              onClick={() => view.set({ dialog: "mute", what: finding.rule })}
            >
              {t("incidents.mute.button")}
            </button>
          )}
        </div>
      ))}
      {rest.length > 0 && (
        <Collapsible id="more-findings" title={t("incidents.step.moreFindings")} count={rest.length}>
          {rest.map((finding, i) => (
            <FindingRow
              key={`${finding.rule}${i}`}
              finding={finding}
              verdict={FINDING_VERDICTS[finding.state]}
            />
          ))}
        </Collapsible>
      )}
      <MutedFindings incident={incident} answer={answer} />
    </>
  );
}

/** Pins of the step. */
function StepPins({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  const pins = incident.pins.filter((pin) => pin.step === step.key);
  if (pins.length === 0) return null;
  return (
    <>
      <h3 className={classes.subheading}>{t("incidents.pane.pins")}</h3>
      <ul className={classes.list}>
        {pins.map((pin) => (
          <PinItem key={pin.id} incident={incident} pin={pin} />
        ))}
      </ul>
    </>
  );
}

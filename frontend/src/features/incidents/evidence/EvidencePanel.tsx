import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { HostAnswer, Incident, IncidentStep } from "../../client/incidents";
import type { Finding, StepVerdict } from "../../client/types";
import { Fold } from "../../components/Fold";
import { Prose } from "../../components/Prose";
import { Empty } from "../../components/States";
import { LOOKS, type Look, Verdict } from "../../components/Verdict";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { FindingRow } from "../../renderers/findings/FindingRow";
import { PinItem } from "../../renderers/incident/PinItem";
import classes from "./Evidence.module.css";
import { HostPicker } from "./HostPicker";
import { Meaning } from "./Meaning";
import { Muted } from "./Muted";
import { PersonSaid } from "./PersonSaid";
import { PinShown } from "./PinShown";
import { StepViews } from "./StepViews";
import { hypothesisOf, type IncidentView, numberOf } from "./view";
import { Waived } from "./Waive";

interface Props {
  incident: Incident;
  view: IncidentView;
}

/** The step that is looked at: what it asks, what each host answers, the numbers behind that, and who sees it otherwise. */
export function Evidence({ incident, view }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const { step, answer } = view;
  if (!step) return <Empty title={t("incidents.step.none")}>{t("incidents.step.noneText")}</Empty>;
  const about = hypothesisOf(incident, step);
  const gap = incident.gaps.includes(step.key);
  return (
    <div className={classes.evidence}>
      <header className={classes.head}>
        <h2 className={classes.asks}>
          <span className="num dim">{numberOf(view, step.key)}</span> {pick(step.asks)}{" "}
          <span className={classes.about} title={about ? pick(about.says) : undefined}>
            {about?.sign ?? t(`playbooks.gate.${step.about as "symptom"}`, { defaultValue: step.about })}
          </span>
        </h2>
        <span className={classes.actions}>
          <PinShown incident={incident} view={view} />
          {incident.may.edit && (
            <Button size="compact-sm" variant="default" onClick={() => view.set({ act: "verdict" })}>
              {t("incidents.verdict.give")}
            </Button>
          )}
          {incident.may.edit && gap && (
            <Button size="compact-sm" variant="subtle" onClick={() => view.set({ act: "waive" })}>
              {t("incidents.step.waive")}
            </Button>
          )}
        </span>
      </header>
      {incident.hosts.length > 1 && <HostPicker incident={incident} view={view} verdicts />}
      <Waived incident={incident} step={step} />
      {answer ? (
        <Answered incident={incident} view={view} step={step} answer={answer} gap={gap} />
      ) : (
        <Line look="absent" word={t("playbooks.verdict.not_collected")} why={t("incidents.step.notAsked")} />
      )}
      <Meaning step={step} />
      {step.look && (
        <p className={classes.look}>
          <span className="dim">{t("playbooks.person")}</span> <Prose text={step.look} />
        </p>
      )}
      {answer && <StepViews answer={answer} />}
      <StepPins incident={incident} step={step} />
    </div>
  );
}

function Line({ look, word, why }: { look: Look; word: string; why: string }) {
  return (
    <p className={classes.verdict} data-look={look}>
      <Verdict look={look} /> <strong>{word}</strong>
      {why && <span className={classes.why}>{why}</span>}
    </p>
  );
}

const SHOWN = 3;
const FOUND: Record<Finding["state"], Look> = {
  fired: "supports",
  quiet: "refutes",
  inconclusive: "inconclusive",
  not_evaluated: "absent",
};

const OPPOSITE: Partial<Record<StepVerdict, StepVerdict>> = { supports: "refutes", refutes: "supports" };

interface AnsweredProps extends Props {
  step: IncidentStep;
  answer: HostAnswer;
  gap: boolean;
}

function Answered({ incident, view, step, answer, gap }: AnsweredProps) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  const unsettled =
    answer.verdict === "inconclusive" && answer.by === "rule"
      ? t(answer.findings[0]?.state === "fired" ? "playbooks.unsettled.fired" : "playbooks.unsettled.quiet")
      : "";
  const why = answer.reason ? sentence(names.reason(answer.reason)) : unsettled;
  const waits = !step.finding && answer.by === "nobody";
  const opposite = step.hosts
    .filter((one) => one.verdict === OPPOSITE[answer.verdict])
    .map((one) => one.host_id);
  const shown = answer.findings.slice(0, SHOWN);
  const rest = answer.findings.slice(SHOWN);
  return (
    <>
      <Line
        look={LOOKS[answer.verdict]}
        word={`${gap ? `${t("playbooks.gap")}: ` : ""}${t(waits ? "playbooks.verdict.person" : `playbooks.verdict.${answer.verdict}`)}`}
        why={waits ? "" : why}
      />
      {answer.person && <PersonSaid incident={incident} answer={answer} person={answer.person} />}
      {opposite.length > 0 && (
        <p className={classes.disagrees}>
          {t("incidents.step.hostsDisagree", {
            hosts: incident.hosts.flatMap((one) => (opposite.includes(one.id) ? one.name : [])).join(", "),
          })}
        </p>
      )}
      {answer.disagrees && (
        <p className={classes.disagrees}>
          {answer.rule_verdict !== answer.verdict
            ? t("incidents.step.ruleSays", { verdict: t(`playbooks.verdict.${answer.rule_verdict}`) })
            : t("incidents.step.peopleDisagree")}
        </p>
      )}
      {shown.map((one, i) => (
        <div key={`${one.rule}${i}`} className={classes.finding}>
          <FindingRow finding={one} look={FOUND[one.state]} />
          {incident.may.mute && one.state === "fired" && (
            <button
              type="button"
              className={classes.mute}
              onClick={() => view.set({ act: "mute", what: one.rule })}
            >
              {t("incidents.mute.button")}
            </button>
          )}
        </div>
      ))}
      {rest.length > 0 && (
        <Fold id="more-findings" title={t("incidents.step.moreFindings")} count={rest.length}>
          {rest.map((one, i) => (
            <FindingRow key={`${one.rule}${i}`} finding={one} look={FOUND[one.state]} />
          ))}
        </Fold>
      )}
      <Muted incident={incident} answer={answer} />
    </>
  );
}

/** What was pinned for this step. */
function StepPins({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  const pins = incident.pins.filter((one) => one.step === step.key);
  if (pins.length === 0) return null;
  return (
    <>
      <h3 className={classes.sub}>{t("incidents.pane.pins")}</h3>
      <ul className={classes.list}>
        {pins.map((one) => (
          <PinItem key={one.id} incident={incident} pin={one} />
        ))}
      </ul>
    </>
  );
}

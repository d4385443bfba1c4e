import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { TierTag } from "../../../components/StatusIcon";
import { VerdictIcon } from "../../../components/VerdictIcon";
import { formatBytes, formatNumber, formatSeconds } from "../../../core/text/format";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { isActive, queryKeys } from "../../../lib/queries";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { NextProposal } from "../api";
import { EditConflict } from "../page/EditConflict";
import { useIncidentText } from "../page/useIncidentText";
import { findHypothesis, type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./NextStep.module.css";
import {
  addOptionAnswer,
  type OptionAnswers,
  OptionPrompt,
  findMissingOption as questionOf,
} from "./OptionPrompt";
import { StepProgress } from "./StepProgress";
import { StepResult } from "./StepResult";

const STOPPED_BY_HAND_KEY = "autopilot.by_hand";
const NOTHING_LEFT_KEY = "autopilot.nothing_left";

interface Props {
  incident: Incident;
  view: IncidentView;
  /** Number of presses of `n`. The first press expands the proposed step, the second runs it. */
  requestCount: number;
}

/** Next step: its proposal, its progress while it runs, then its result with the following proposal. */
export function NextStepPanel({ incident, view, requestCount }: Props) {
  const { t } = useTranslation();
  const cache = useQueryClient();
  const running = incident.runs.find((run) => run.step && isActive(run.state));
  const [last, setLast] = useState<{ step: string; host: string; run: string }>();
  const step = running?.step ?? "";
  const host = running?.host_id ?? "";
  const run = running?.run_id ?? "";
  useEffect(() => {
    if (step && host) setLast({ step, host, run });
  }, [step, host, run]);
  const isRunning = running !== undefined;
  useEffect(() => {
    // The timeline of the host displays the results, too.
    if (!isRunning && last) void cache.invalidateQueries({ queryKey: queryKeys.hosts });
  }, [isRunning, last, cache]);
  const resolved = incident.state === "resolved";
  const next = resolved ? null : incident.next;
  // Without steps, the answer panel shows the running diagnosis or offers the first diagnosis.
  const isDiagnosedFirst =
    incident.diagnoses.every((item) => item.state === "running") &&
    incident.hosts.some((item) => item.can_capture && item.role !== "control");
  if (!running && !last && !resolved && incident.steps.length === 0 && isDiagnosedFirst) return null;
  return (
    <section
      className={classes.next}
      aria-label={t("playbooks.next")}
      data-running={running ? "" : undefined}
    >
      {running && <StepProgress incident={incident} view={view} run={running} />}
      {!running && <AutopilotStopNote incident={incident} />}
      {!running && last && <StepResult incident={incident} view={view} {...last} />}
      {!running && next && (
        <ProposedStep incident={incident} view={view} next={next} requestCount={requestCount} />
      )}
      {!running && resolved && (
        <p className={classes.done}>
          <VerdictIcon verdict="supports" /> {t("incidents.next.resolved")}
        </p>
      )}
      {!running && !resolved && !next && incident.steps.length > 0 && (
        <p className={classes.done}>
          <VerdictIcon verdict={incident.gaps.length > 0 ? "absent" : "supports"} />
          {t(incident.gaps.length > 0 ? "playbooks.nothingLeft" : "playbooks.answered")}
        </p>
      )}
      {!running && !resolved && !next && incident.steps.length === 0 && (
        <p className={classes.done}>
          <VerdictIcon verdict="absent" /> {t("incidents.next.noPlaybook")}
          <Button size="xs" variant="default" onClick={() => view.set({ dialog: "hosts" })}>
            {t("incidents.hosts.addPlaybook")}
          </Button>
        </p>
      )}
    </section>
  );
}

/** Reason why the autopilot stopped, while it still applies to the next step. */
function AutopilotStopNote({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const words = useIncidentText(incident);
  const { autopilot, next, state } = incident;
  const reason = autopilot?.state === "stopped" ? autopilot.reason : null;
  if (!reason || state === "resolved" || reason.key === STOPPED_BY_HAND_KEY) return null;
  const about = reason.params.step;
  if (about === undefined ? reason.key === NOTHING_LEFT_KEY && next : about !== next?.step) return null;
  return (
    <p className={classes.stopped} role="status">
      <Bot size={14} aria-hidden /> <strong>{t("incidents.autopilot.stopped")}</strong> {words(reason)}
    </p>
  );
}

function ProposedStep({ incident, view, next, requestCount }: Props & { next: NextProposal }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  const write = useIncidentWrite(incident);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const [confirm, setConfirm] = useState("");
  const [answers, setAnswers] = useState<OptionAnswers>({});
  const [reply, setReply] = useState("");
  const question = questionOf(write.error, next.collectors);
  const step = incident.steps.find((step) => step.key === next.step);
  const host = incident.hosts.find((host) => host.id === next.host_id);
  const about = step && findHypothesis(incident, step);
  const person = next.collectors.length === 0;
  const allowed = incident.permissions.capture && incident.permissions.tiers.includes(next.tier);
  const stops = next.tier === "ptrace";
  useEffect(() => {
    if (requestCount === 0 || !button.current) return;
    if (document.activeElement === button.current) button.current.click();
    else {
      setOpen(true);
      button.current.focus();
    }
  }, [requestCount]);
  const why = {
    ...next.why,
    params: {
      ...next.why.params,
      about: about ? `${about.sign} (${localize(about.summary)})` : localize(step?.question),
      tier: t(`tier.${next.tier}.name`),
    },
  };
  const run = () => {
    view.set({ step: next.step, host: next.host_id, pane: "evidence" });
    const answered = question && reply.trim() ? addOptionAnswer(answers, question, reply) : answers;
    const options = Object.fromEntries(
      Object.entries(answered).filter(([collector]) => next.collectors.includes(collector)),
    );
    setAnswers(options);
    setReply("");
    write.send({
      method: "POST",
      path: "/step-runs",
      body: {
        step: next.step,
        host_id: next.host_id,
        ...(stops ? { confirm } : {}),
        ...(Object.keys(options).length > 0 ? { options } : {}),
      },
    });
  };
  return (
    <>
      <div className={classes.head}>
        <div className={classes.summary}>
          <p className={classes.title}>
            <span className={classes.label}>{t("playbooks.next")}</span>{" "}
            <button type="button" className={classes.question} onClick={() => view.choose(next.step)}>
              {stepNumber(view, next.step)} · {localize(step?.question)}
            </button>
          </p>
          <p className={classes.cost}>
            {person ? (
              <span>{t("playbooks.verdict.person")}</span>
            ) : (
              <>
                <span>{next.collectors.map(names.collector).join(", ")}</span>
                {host && <span>{t("incidents.next.on", { host: host.name })}</span>}
                <TierTag tier={next.tier} />
                <span className="num">{formatSeconds(next.cost.seconds)}</span>
                <span className="num">{t("diagnosis.ofCore", { cpu: formatNumber(next.cost.cpu_pct) })}</span>
                {next.cost.bytes !== null && <span className="num">~{formatBytes(next.cost.bytes)}</span>}
              </>
            )}
          </p>
        </div>
        {person
          ? incident.permissions.edit && (
              <Button
                ref={button}
                onClick={() => view.set({ step: next.step, host: next.host_id, dialog: "verdict" })}
                rightSection={<kbd className={classes.key}>n</kbd>}
              >
                {t("incidents.verdict.set")}
              </Button>
            )
          : allowed && (
              <Button
                ref={button}
                onClick={run}
                loading={write.pending}
                disabled={stops && confirm !== host?.name}
                rightSection={<kbd className={classes.key}>n</kbd>}
              >
                {t("incidents.next.run")}
              </Button>
            )}
      </div>
      <p className={classes.reason}>{formatMessage(why)}</p>
      {!person && !allowed && (
        <p className={classes.reason}>
          {t("incidents.next.notAllowed", { tier: t(`tier.${next.tier}.name`) })}
        </p>
      )}
      {stops && allowed && (
        <TextInput
          size="xs"
          w={320}
          label={t("incidents.next.confirm", { host: host?.name ?? "" })}
          value={confirm}
          onChange={(event) => setConfirm(event.currentTarget.value)}
        />
      )}
      {next.commands.length > 0 && (
        <>
          <Button size="compact-xs" variant="subtle" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? t("diagnose.hideCommands") : t("diagnose.showCommands")}
          </Button>
          {open && (
            <ul className={classes.commands} aria-label={t("newCapture.preview")}>
              {next.commands.map((command) => (
                <li key={`${command.collector}${command.text}`}>
                  <span className="dim">
                    {names.collector(command.collector)}
                    {command.why && `: ${formatMessage(command.why)}`}
                  </span>
                  <CommandLine text={command.text} />
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      <ErrorLine error={write.error} />
      {question && allowed && (
        <OptionPrompt missing={question} value={reply} onChange={setReply} onAnswer={run} />
      )}
      <EditConflict incident={incident} write={write} />
    </>
  );
}

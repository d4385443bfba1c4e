import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident, NextProposal } from "../../client/incidents";
import { CommandLine } from "../../components/Copy";
import { TierTag } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { Verdict } from "../../components/Verdict";
import { bytes, number, seconds } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { isActive, keys } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { Conflict } from "./Conflict";
import classes from "./Next.module.css";
import { Progress } from "./Progress";
import { Question, asked as questionOf, type Told, withAnswer } from "./Question";
import { StepResult } from "./StepResult";
import { useWords } from "./useWords";
import { hypothesisOf, type IncidentView, numberOf } from "./view";

const BY_HAND = "autopilot.by_hand";
const NOTHING_LEFT = "autopilot.nothing_left";

interface Props {
  incident: Incident;
  view: IncidentView;
  /** Grows with every press of `n`: the first shows what would run, the second runs it. */
  asked: number;
}

/** The one thing to do next. While it runs, its progress stands here; then what came of it, and what is next. */
export function NextStep({ incident, view, asked }: Props) {
  const { t } = useTranslation();
  const cache = useQueryClient();
  const running = incident.runs.find((one) => one.step && isActive(one.state));
  const [last, setLast] = useState<{ step: string; host: string; run: string }>();
  const step = running?.step ?? "";
  const host = running?.host_id ?? "";
  const run = running?.run_id ?? "";
  useEffect(() => {
    if (step && host) setLast({ step, host, run });
  }, [step, host, run]);
  const going = running !== undefined;
  useEffect(() => {
    // What came home is on the timeline of its host too.
    if (!going && last) void cache.invalidateQueries({ queryKey: keys.hosts });
  }, [going, last, cache]);
  const resolved = incident.state === "resolved";
  const next = resolved ? null : incident.next;
  return (
    <section
      className={classes.next}
      aria-label={t("playbooks.next")}
      data-running={running ? "" : undefined}
    >
      {running && <Progress incident={incident} view={view} run={running} />}
      {!running && <PilotStopped incident={incident} />}
      {!running && last && <StepResult incident={incident} view={view} {...last} />}
      {!running && next && <Proposed incident={incident} view={view} next={next} asked={asked} />}
      {!running && resolved && (
        <p className={classes.done}>
          <Verdict look="supports" /> {t("incidents.next.resolved")}
        </p>
      )}
      {!running && !resolved && !next && incident.steps.length > 0 && (
        <p className={classes.done}>
          <Verdict look={incident.gaps.length > 0 ? "absent" : "supports"} />
          {t(incident.gaps.length > 0 ? "playbooks.nothingLeft" : "playbooks.answered")}
        </p>
      )}
      {!running && !resolved && !next && incident.steps.length === 0 && (
        <p className={classes.done}>
          <Verdict look="absent" /> {t("incidents.next.noPlaybook")}
          <Button size="xs" onClick={() => view.set({ act: "hosts" })}>
            {t("incidents.hosts.addPlaybook")}
          </Button>
        </p>
      )}
    </section>
  );
}

/** Why the autopilot stopped, for as long as that is what it still waits for. */
function PilotStopped({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const words = useWords(incident);
  const { autopilot, next, state } = incident;
  const reason = autopilot?.state === "stopped" ? autopilot.reason : null;
  if (!reason || state === "resolved" || reason.key === BY_HAND) return null;
  const about = reason.params.step;
  if (about === undefined ? reason.key === NOTHING_LEFT && next : about !== next?.step) return null;
  return (
    <p className={classes.stopped} role="status">
      <Bot size={14} aria-hidden /> <strong>{t("incidents.autopilot.stopped")}</strong> {words(reason)}
    </p>
  );
}

function Proposed({ incident, view, next, asked }: Props & { next: NextProposal }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const write = useWrite(incident);
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const [confirm, setConfirm] = useState("");
  const [told, setTold] = useState<Told>({});
  const [reply, setReply] = useState("");
  const question = questionOf(write.error, next.collectors);
  const step = incident.steps.find((one) => one.key === next.step);
  const host = incident.hosts.find((one) => one.id === next.host_id);
  const about = step && hypothesisOf(incident, step);
  const person = next.collectors.length === 0;
  const allowed = incident.may.capture && incident.may.tiers.includes(next.tier);
  const stops = next.tier === "ptrace";
  useEffect(() => {
    if (asked === 0 || !button.current) return;
    if (document.activeElement === button.current) button.current.click();
    else {
      setOpen(true);
      button.current.focus();
    }
  }, [asked]);
  const why = {
    ...next.why,
    params: {
      ...next.why.params,
      about: about ? `${about.sign} (${pick(about.says)})` : pick(step?.asks),
      tier: t(`tier.${next.tier}.name`),
    },
  };
  const run = () => {
    view.set({ step: next.step, host: next.host_id, pane: "evidence" });
    const answered = question && reply.trim() ? withAnswer(told, question, reply) : told;
    const options = Object.fromEntries(
      Object.entries(answered).filter(([collector]) => next.collectors.includes(collector)),
    );
    setTold(options);
    setReply("");
    write.send({
      method: "POST",
      path: "/step",
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
        <div className={classes.what}>
          <p className={classes.title}>
            <span className={classes.label}>{t("playbooks.next")}</span>{" "}
            <button type="button" className={classes.asks} onClick={() => view.choose(next.step)}>
              {numberOf(view, next.step)} · {pick(step?.asks)}
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
                <span className="num">{seconds(next.cost.seconds)}</span>
                <span className="num">{t("diagnosis.ofCore", { cpu: number(next.cost.cpu_pct) })}</span>
                {next.cost.bytes !== null && <span className="num">~{bytes(next.cost.bytes)}</span>}
              </>
            )}
          </p>
        </div>
        {person
          ? incident.may.edit && (
              <Button
                ref={button}
                onClick={() => view.set({ step: next.step, host: next.host_id, act: "verdict" })}
                rightSection={<kbd className={classes.key}>n</kbd>}
              >
                {t("incidents.verdict.give")}
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
      <p className={classes.why}>{sentence(why)}</p>
      {!person && !allowed && (
        <p className={classes.why}>{t("incidents.next.notAllowed", { tier: t(`tier.${next.tier}.name`) })}</p>
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
              {next.commands.map((one) => (
                <li key={`${one.collector}${one.text}`}>
                  <span className="dim">
                    {names.collector(one.collector)}
                    {one.why && `: ${sentence(one.why)}`}
                  </span>
                  <CommandLine text={one.text} />
                </li>
              ))}
            </ul>
          )}
        </>
      )}
      <ErrorLine error={write.error} />
      {question && allowed && <Question of={question} value={reply} onChange={setReply} onAnswer={run} />}
      <Conflict incident={incident} write={write} />
    </>
  );
}

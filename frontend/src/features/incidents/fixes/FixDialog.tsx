import { MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Remediation } from "../../../client/models";
import { TimeField } from "../../../components/fields/TimeField";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useCauses, usePlaybooksOf } from "../../../lib/queries";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { IncidentForm } from "../dialogs/IncidentForm";
import type { IncidentDialogProps } from "../dialogs/types";
import classes from "../page/Incidents.module.css";
import { useCauseName } from "../page/useIncidentView";

/** Key of the option that fills in the cause's own fix and risk instead of a playbook's remediation. */
const CAUSE_ADVICE = "cause";

/** Dialog that plans a fix: from a remediation or as free text, with risk and rollback. */
export function FixDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const causeName = useCauseName(incident);
  const write = useIncidentWrite(
    incident,
    (now) => (now?.created_id ? view.set({ dialog: "", pane: "fixes", what: now.created_id }) : onClose()),
    true,
  );
  const playbooks = usePlaybooksOf(incident.playbooks.map((playbook) => playbook.id));
  // Prefer a likely cause, because a confirmed cause already has a fix.
  const unproven = incident.causes.find((cause) => cause.confidence === "likely") ?? incident.causes[0];
  const [hypothesis, setHypothesis] = useState(
    incident.hypotheses.find((hypothesis) => hypothesis.key === view.what)?.key ??
      unproven?.hypothesis ??
      null,
  );
  const cause = incident.hypotheses.find((item) => item.key === hypothesis)?.cause ?? "";
  const cards = playbooks.flatMap((playbook) =>
    playbook.remediations.map((card) => ({ key: `${playbook.id}/${card.id}`, card })),
  );
  const fits = (card: Remediation) => cause !== "" && card.causes.includes(cause);
  const sorted = [...cards].sort((a, b) => Number(fits(b.card)) - Number(fits(a.card)));
  const about = useCauses().data?.get(cause);
  const [card, setCard] = useState<string | null>(null);
  const [text, setText] = useState({ what: "", command: "", risk: "", rollback: "" });
  const [hosts, setHosts] = useState<string[]>(() =>
    incident.hosts.filter((host) => host.role === "suspect").map((host) => host.id),
  );
  const take = (key: string | null) => {
    setCard(key);
    if (key === CAUSE_ADVICE && about)
      setText({ what: localize(about.fix), command: "", risk: localize(about.risk), rollback: "" });
    const chosen = cards.find((card) => card.key === key)?.card;
    if (chosen)
      setText({
        what: localize(chosen.title),
        command: chosen.command,
        risk: localize(chosen.risk),
        rollback: localize(chosen.rollback),
      });
  };
  const put = (name: keyof typeof text) => (event: { currentTarget: { value: string } }) =>
    setText({ ...text, [name]: event.currentTarget.value });
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.fix.plan")}
      submit={t("incidents.fix.save")}
      size="48rem"
      ready={text.what.trim() !== ""}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/fixes",
          body: {
            hypothesis_id: incident.hypotheses.find((item) => item.key === hypothesis)?.id ?? null,
            remediation: card === CAUSE_ADVICE ? "" : (card ?? ""),
            host_ids: hosts,
            ...text,
          },
        })
      }
      onClose={onClose}
    >
      <div className={classes.twoColumns}>
        <Select
          label={t("incidents.fix.against")}
          data={incident.hypotheses.map((hypothesis) => ({
            value: hypothesis.key,
            label: causeName(hypothesis.cause, hypothesis.key),
          }))}
          value={hypothesis}
          onChange={setHypothesis}
          clearable
        />
        <Select
          label={t("incidents.fix.remediation")}
          placeholder={t("incidents.fix.ownRemediation")}
          data={[
            ...sorted.map(({ key, card }) => ({
              value: key,
              label: `${fits(card) ? "★ " : ""}${localize(card.title)}`,
            })),
            ...(about
              ? [{ value: CAUSE_ADVICE, label: t("incidents.fix.advice", { cause: causeName(cause) }) }]
              : []),
          ]}
          value={card}
          onChange={take}
          clearable
          searchable
        />
      </div>
      <TextInput
        label={t("incidents.fix.what")}
        required
        value={text.what}
        onChange={put("what")}
        data-autofocus
      />
      <MultiSelect
        label={t("incidents.fix.where")}
        data={incident.hosts.map((host) => ({ value: host.id, label: host.name }))}
        value={hosts}
        onChange={setHosts}
        clearable
      />
      <Textarea
        label={t("incidents.fix.command")}
        description={t("incidents.fix.commandText")}
        value={text.command}
        onChange={put("command")}
        autosize
        minRows={1}
        classNames={{ input: "mono" }}
      />
      <div className={classes.twoColumns}>
        <Textarea label={t("playbooks.risk")} value={text.risk} onChange={put("risk")} autosize minRows={2} />
        <Textarea
          label={t("playbooks.rollback")}
          value={text.rollback}
          onChange={put("rollback")}
          autosize
          minRows={2}
        />
      </div>
    </IncidentForm>
  );
}

/** Dialog that records when a fix took effect. This time separates "before" from "after". */
export function AppliedDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident, onClose, true);
  const [at, setAt] = useState(() => new Date().toISOString());
  const fix = incident.fixes.find((fix) => fix.id === view.what);
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.fix.wasApplied")}
      submit={t("action.save")}
      ready={fix !== undefined && at !== ""}
      onSubmit={() =>
        write.send({
          method: "PATCH",
          path: `/fixes/${fix?.id}`,
          body: { state: "applied", applied_at: at },
        })
      }
      onClose={onClose}
    >
      <p className={classes.summary}>{fix?.what}</p>
      <TimeField label={t("incidents.fix.when")} value={at} onChange={setAt} data-autofocus />
    </IncidentForm>
  );
}

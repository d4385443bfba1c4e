import { MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PlaybookCard } from "../../client/types";
import { TimeField } from "../../components/TimeField";
import { usePick } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { useCauses, usePlaybooksOf } from "../../lib/queries";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Incidents.module.css";
import { useCauseName } from "./view";

/** The card that no playbook has: what is known about the cause itself. */
const ADVICE = "cause";

/** What to change: after a card of the playbook, or one's own; with its risk and its way back. */
export function FixDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const causeName = useCauseName(incident);
  const write = useWrite(
    incident,
    (now) => (now?.made ? view.set({ act: "", pane: "fixes", what: now.made }) : onClose()),
    true,
  );
  const playbooks = usePlaybooksOf(incident.playbooks.map((one) => one.id));
  // A confirmed cause has its fix already.
  const unproven = incident.causes.find((one) => one.confidence === "likely") ?? incident.causes[0];
  const [hypothesis, setHypothesis] = useState(
    incident.hypotheses.find((one) => one.key === view.what)?.key ?? unproven?.hypothesis ?? null,
  );
  const cause = incident.hypotheses.find((one) => one.key === hypothesis)?.cause ?? "";
  const cards = playbooks.flatMap((one) => one.cards.map((card) => ({ key: `${one.id}/${card.id}`, card })));
  const fits = (card: PlaybookCard) => cause !== "" && card.causes.includes(cause);
  const sorted = [...cards].sort((a, b) => Number(fits(b.card)) - Number(fits(a.card)));
  const about = useCauses().data?.get(cause);
  const [card, setCard] = useState<string | null>(null);
  const [text, setText] = useState({ what: "", command: "", risk: "", way_back: "" });
  const [hosts, setHosts] = useState<string[]>(() =>
    incident.hosts.filter((one) => one.role === "suspect").map((one) => one.id),
  );
  const take = (key: string | null) => {
    setCard(key);
    if (key === ADVICE && about)
      setText({ what: pick(about.fix), command: "", risk: pick(about.risk), way_back: "" });
    const chosen = cards.find((one) => one.key === key)?.card;
    if (chosen)
      setText({
        what: pick(chosen.title),
        command: chosen.command,
        risk: pick(chosen.risk),
        way_back: pick(chosen.back),
      });
  };
  const put = (name: keyof typeof text) => (event: { currentTarget: { value: string } }) =>
    setText({ ...text, [name]: event.currentTarget.value });
  return (
    <ActForm
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
            hypothesis_id: incident.hypotheses.find((one) => one.key === hypothesis)?.id ?? null,
            card: card === ADVICE ? "" : (card ?? ""),
            host_ids: hosts,
            ...text,
          },
        })
      }
      onClose={onClose}
    >
      <div className={classes.two}>
        <Select
          label={t("incidents.fix.against")}
          data={incident.hypotheses.map((one) => ({ value: one.key, label: causeName(one.cause, one.key) }))}
          value={hypothesis}
          onChange={setHypothesis}
          clearable
        />
        <Select
          label={t("incidents.fix.card")}
          placeholder={t("incidents.fix.ownCard")}
          data={[
            ...sorted.map(({ key, card: one }) => ({
              value: key,
              label: `${fits(one) ? "★ " : ""}${pick(one.title)}`,
            })),
            ...(about
              ? [{ value: ADVICE, label: t("incidents.fix.advice", { cause: causeName(cause) }) }]
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
        data={incident.hosts.map((one) => ({ value: one.id, label: one.name }))}
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
      <div className={classes.two}>
        <Textarea label={t("playbooks.risk")} value={text.risk} onChange={put("risk")} autosize minRows={2} />
        <Textarea
          label={t("playbooks.wayBack")}
          value={text.way_back}
          onChange={put("way_back")}
          autosize
          minRows={2}
        />
      </div>
    </ActForm>
  );
}

/** Since when a fix is in force. What comes before and after is told apart by it. */
export function AppliedDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const write = useWrite(incident, onClose, true);
  const [at, setAt] = useState(() => new Date().toISOString());
  const fix = incident.fixes.find((one) => one.id === view.what);
  return (
    <ActForm
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
      <p className={classes.says}>{fix?.what}</p>
      <TimeField label={t("incidents.fix.when")} value={at} onChange={setAt} data-autofocus />
    </ActForm>
  );
}

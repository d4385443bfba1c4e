import { useCallback } from "react";
import type { Incident, JournalEntry } from "../../../client/models";
import { orderSteps } from "../../../core/incidents/chain";
import type { Message } from "../../../core/text/messages";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";

/** Returns the display text of a message parameter, which the server sends as a key or ID. */
type EntryText = (value: string) => string;

/** Return a formatter for server messages about an incident; it inserts display names of steps, causes and verdicts. */
export function useIncidentText(incident: Incident) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const localize = useLocalized();
  const names = useNames();
  const numberName = useNumberName();
  const { steps, hypotheses, playbooks } = incident;
  return useCallback(
    (of: Message | null | undefined): string => {
      if (!of) return "";
      const keys = orderSteps(steps, hypotheses);
      const step: EntryText = (key) => {
        const question = localize(steps.find((step) => step.key === key)?.question);
        return question ? `${keys.indexOf(key) + 1} · ${question}` : key;
      };
      const verdict: EntryText = (value) =>
        t(`playbooks.verdict.${value as "supports"}`, { defaultValue: value });
      const state: EntryText = (value) =>
        t(`incidents.hypothesis.state.${value}` as "incidents.hypothesis.state.open", {
          defaultValue: t(`incidents.state.${value}` as "incidents.state.open", { defaultValue: value }),
        });
      const whole: EntryText = (value) =>
        t(`incidents.state.${value}` as "incidents.state.open", { defaultValue: state(value) });
      const words: Record<string, EntryText> = {
        step,
        steps: (list) =>
          list
            .split(", ")
            .map((item) => {
              const [key = "", text] = item.split(": ");
              return text ? `${step(key)}: ${verdict(text)}` : step(key);
            })
            .join("; "),
        hypothesis: (key) =>
          localize(hypotheses.find((hypothesis) => hypothesis.key === key)?.summary) || key,
        playbook: (id) => localize(playbooks.find((playbook) => playbook.id === id)?.title) || id,
        verdict,
        previous: whole,
        to: of.key === "journal.state_changed" ? whole : state,
        cause: names.cause,
        instead: names.cause,
        read: numberName,
        rule: names.rule,
        tier: (value) => t(`tier.${value as "light"}.name`, { defaultValue: value }),
        how: (value) => t(`incidents.verify.kind.${value as "plain"}`, { defaultValue: value }),
        collectors: (list) => list.split(", ").map(names.collector).join(", "),
        ...(of.key === "journal.pin_added"
          ? { what: (value: string) => t(`incidents.pin.kind.${value as "line"}`, { defaultValue: value }) }
          : {}),
        ...(of.key === "incident.changed"
          ? {
              what: (list: string) =>
                list
                  .split(", ")
                  .map((kind) => t(`incidents.kind.${kind as "note_added"}`, { defaultValue: kind }))
                  .join(", "),
            }
          : {}),
      };
      const params = Object.fromEntries(
        Object.entries({ host: "", ...of.params }).map(([name, value]) => {
          const word = words[name];
          return [name, word && typeof value === "string" ? word(value) : value];
        }),
      );
      return formatMessage({ key: of.key, params }).trim();
    },
    [steps, hypotheses, playbooks, t, formatMessage, localize, names, numberName],
  );
}

/** Return a journal entry as a message. */
export const toEntryMessage = ({ kind, params }: Pick<JournalEntry, "kind" | "params">): Message => ({
  key: `journal.${kind}`,
  params: Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (typeof value === "object" ? [] : [[name, value]])),
  ),
});

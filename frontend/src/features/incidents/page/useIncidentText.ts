import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { Incident, JournalEntry } from "../../client/incidents";
import { order } from "../../core/chain";
import type { Sentence } from "../../core/words";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { useNumberName } from "../../lib/useNumberName";

/** Values of these parameters are names of the server; a reader is told what they stand for. */
type Word = (value: string) => string;

/** The server's sentences about an incident: its steps, hypotheses, causes and verdicts under the names that the screen shows. */
export function useWords(incident: Incident) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const pick = usePick();
  const names = useNames();
  const numberName = useNumberName();
  const { steps, hypotheses, playbooks } = incident;
  return useCallback(
    (of: Sentence | null | undefined): string => {
      if (!of) return "";
      const keys = order(steps, hypotheses);
      const step: Word = (key) => {
        const asks = pick(steps.find((one) => one.key === key)?.asks);
        return asks ? `${keys.indexOf(key) + 1} · ${asks}` : key;
      };
      const verdict: Word = (value) => t(`playbooks.verdict.${value as "supports"}`, { defaultValue: value });
      const state: Word = (value) =>
        t(`incidents.hypothesis.state.${value}` as "incidents.hypothesis.state.open", {
          defaultValue: t(`incidents.state.${value}` as "incidents.state.open", { defaultValue: value }),
        });
      const whole: Word = (value) =>
        t(`incidents.state.${value}` as "incidents.state.open", { defaultValue: state(value) });
      const words: Record<string, Word> = {
        step,
        steps: (list) =>
          list
            .split(", ")
            .map((one) => {
              const [key = "", said] = one.split(": ");
              return said ? `${step(key)}: ${verdict(said)}` : step(key);
            })
            .join("; "),
        hypothesis: (key) => pick(hypotheses.find((one) => one.key === key)?.says) || key,
        playbook: (id) => pick(playbooks.find((one) => one.id === id)?.title) || id,
        verdict,
        was: whole,
        to: of.key === "journal.state" ? whole : state,
        cause: names.cause,
        instead: names.cause,
        read: numberName,
        rule: names.rule,
        tier: (value) => t(`tier.${value as "light"}.name`, { defaultValue: value }),
        how: (value) => t(`incidents.verify.kind.${value as "plain"}`, { defaultValue: value }),
        collectors: (list) => list.split(", ").map(names.collector).join(", "),
        ...(of.key === "journal.pin"
          ? { what: (value: string) => t(`incidents.pin.kind.${value as "line"}`, { defaultValue: value }) }
          : {}),
        ...(of.key === "incident.changed"
          ? {
              what: (list: string) =>
                list
                  .split(", ")
                  .map((kind) => t(`incidents.kind.${kind as "note"}`, { defaultValue: kind }))
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
      return sentence({ key: of.key, params }).trim();
    },
    [steps, hypotheses, playbooks, t, sentence, pick, names, numberName],
  );
}

/** An entry of the journal as the sentence that it stands for. */
export const entrySentence = ({ kind, params }: Pick<JournalEntry, "kind" | "params">): Sentence => ({
  key: `journal.${kind}`,
  params: Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (typeof value === "object" ? [] : [[name, value]])),
  ),
});

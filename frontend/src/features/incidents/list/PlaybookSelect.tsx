import { Checkbox, MultiSelect } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { usePick } from "../../lib/i18n";
import { usePlaybooks } from "../../lib/queries";
import classes from "./Incidents.module.css";
import { suggested } from "./incidentDraft";

interface Props {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
  /** What is known: words of the symptom, and causes that were named. */
  words: string;
  causes: readonly string[];
  without?: readonly string[];
}

/** Which playbooks to go by: those that fit what is known first, then any. */
export function PlaybookChoice({ chosen, onChange, words, causes, without = [] }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const all = (usePlaybooks().data ?? []).filter((one) => one.steps > 0 && !without.includes(one.id));
  const fitting = suggested(all, causes, words);
  const flip = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <fieldset className={classes.fieldset}>
      <legend>{t("incidents.new.playbooks")}</legend>
      {fitting.length > 0 && <p className={classes.hint}>{t("incidents.new.suggested")}</p>}
      {fitting.map((one) => (
        <Checkbox
          key={one.id}
          size="xs"
          label={pick(one.title)}
          description={pick(one.symptom)}
          checked={chosen.includes(one.id)}
          onChange={() => flip(one.id)}
        />
      ))}
      <MultiSelect
        aria-label={t("incidents.new.playbooks")}
        placeholder={chosen.length === 0 ? t("incidents.new.playbooksHint") : ""}
        data={all.map((one) => ({ value: one.id, label: pick(one.title) }))}
        value={[...chosen]}
        onChange={onChange}
        searchable
        clearable
        hidePickedOptions
        maxValues={20}
      />
    </fieldset>
  );
}

import { Checkbox, MultiSelect } from "@mantine/core";
import { usePlaybooks } from "../../../lib/queries";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { suggestPlaybooks } from "./incidentDraft";

interface Props {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
  /** Text of the symptom, for suggestions. */
  symptomText: string;
  causes: readonly string[];
  excludedIds?: readonly string[];
}

/** Select of playbooks; those that match the symptom or the causes are suggested as checkboxes. */
export function PlaybookSelect({ chosen, onChange, symptomText, causes, excludedIds = [] }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const all = (usePlaybooks().data ?? []).filter(
    (playbook) => playbook.steps > 0 && !excludedIds.includes(playbook.id),
  );
  const fitting = suggestPlaybooks(all, causes, symptomText);
  const toggle = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((item) => item !== id) : [...chosen, id]);
  return (
    <fieldset className={classes.fieldset}>
      <legend>{t("incidents.new.playbooks")}</legend>
      {fitting.length > 0 && <p className={classes.hint}>{t("incidents.new.suggested")}</p>}
      {fitting.map((playbook) => (
        <Checkbox
          key={playbook.id}
          size="xs"
          label={localize(playbook.title)}
          description={localize(playbook.symptom)}
          checked={chosen.includes(playbook.id)}
          onChange={() => toggle(playbook.id)}
        />
      ))}
      <MultiSelect
        aria-label={t("incidents.new.playbooks")}
        placeholder={chosen.length === 0 ? t("incidents.new.playbooksHint") : ""}
        data={all.map((playbook) => ({ value: playbook.id, label: localize(playbook.title) }))}
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

import { Autocomplete, Select, Textarea, TextInput } from "@mantine/core";
import { TimeField } from "../../../components/fields/TimeField";
import { useServices } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { isNumberOrEmpty, LEVELS, type LevelName, type SymptomDraft, UNITS } from "./incidentDraft";

interface Props {
  value: SymptomDraft;
  onChange: (next: SymptomDraft) => void;
}

/** Form fields of a symptom: service, start, description, and levels before and now with their units. */
export function SymptomFields({ value, onChange }: Props) {
  const { t } = useTranslation();
  const services = useServices();
  const put = (patch: Partial<SymptomDraft>) => onChange({ ...value, ...patch });
  return (
    <fieldset className={classes.fieldset}>
      <legend>{t("incidents.chain.symptom")}</legend>
      <div className={classes.twoColumns}>
        <Autocomplete
          label={t("incidents.symptom.service")}
          data={services.data?.map((service) => service.name) ?? []}
          value={value.service}
          onChange={(service) => put({ service })}
        />
        <TimeField
          label={t("incidents.symptom.since")}
          value={value.since}
          onChange={(since) => put({ since })}
        />
      </div>
      <Textarea
        label={t("incidents.symptom.description")}
        value={value.description}
        onChange={(event) => put({ description: event.currentTarget.value })}
        autosize
        minRows={1}
      />
      <div className={classes.levelHead} aria-hidden>
        <span />
        <span>{t("incidents.symptom.before")}</span>
        <span>{t("incidents.symptom.after")}</span>
        <span>{t("incidents.symptom.unit")}</span>
      </div>
      {LEVELS.map((name) => (
        <LevelRow key={name} name={name} value={value} onChange={onChange} />
      ))}
    </fieldset>
  );
}

function LevelRow({ name, value, onChange }: Props & { name: LevelName }) {
  const { t } = useTranslation();
  const title = t(`incidents.symptom.${name}`);
  const level = value[name];
  const put = (patch: Partial<typeof level>) => onChange({ ...value, [name]: { ...level, ...patch } });
  return (
    <div className={classes.levelRow}>
      <span>{title}</span>
      {(["before", "after"] as const).map((side) => (
        <TextInput
          key={side}
          size="xs"
          aria-label={`${title}, ${t(`incidents.symptom.${side}`)}`}
          inputMode="decimal"
          value={level[side]}
          onChange={(event) => put({ [side]: event.currentTarget.value })}
          error={!isNumberOrEmpty(level[side])}
          classNames={{ input: "mono" }}
        />
      ))}
      <Select
        size="xs"
        aria-label={`${title}, ${t("incidents.symptom.unit")}`}
        data={UNITS[name].includes(level.unit) ? [...UNITS[name]] : [...UNITS[name], level.unit]}
        value={level.unit}
        onChange={(unit) => put({ unit: unit ?? level.unit })}
        allowDeselect={false}
      />
    </div>
  );
}

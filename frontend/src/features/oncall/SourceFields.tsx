import { Button, FileButton, MultiSelect, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useMemo } from "react";
import type { Rotation } from "../../client/models";
import { SecretField } from "../../components/fields/SecretField";
import { useOncallCandidates } from "../../lib/captures/schedules";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./oncall.module.css";
import { listUnknownNames, type RotationDraft } from "./rotationDraft";

interface Props {
  draft: RotationDraft;
  rotation: Rotation | undefined;
  file: File | null;
  onFile: (file: File | null) => void;
  onChange: (some: Partial<RotationDraft>) => void;
}

/** Form fields of the shift source: a list of people, a calendar, or PagerDuty. */
export function SourceFields(props: Props) {
  const { draft } = props;
  if (draft.kind === "simple") return <WeeklyFields {...props} />;
  return (
    <>
      {draft.kind === "calendar" ? <CalendarFields {...props} /> : <PagerDutyFields {...props} />}
      <Accounts {...props} />
    </>
  );
}

function ZoneField({ draft, onChange }: Pick<Props, "draft" | "onChange">) {
  const { t } = useTranslation();
  const zones = useMemo(
    () => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((item) => item !== "UTC")],
    [],
  );
  return (
    <Select
      label={t("schedules.zone")}
      data={zones.includes(draft.zone) ? zones : [draft.zone, ...zones]}
      value={draft.zone}
      onChange={(zone) => zone && onChange({ zone })}
      searchable
      limit={60}
      allowDeselect={false}
    />
  );
}

function WeeklyFields({ draft, onChange }: Props) {
  const { t } = useTranslation();
  const people = useOncallCandidates(true).data ?? [];
  return (
    <>
      <MultiSelect
        label={t("oncall.people")}
        description={t("oncall.peopleText")}
        data={people.map((person) => ({ value: person.id, label: person.name }))}
        value={[...draft.people]}
        onChange={(chosen) => onChange({ people: chosen })}
        searchable
        maxValues={100}
      />
      <div className={classes.row}>
        <TextInput
          label={t("oncall.firstDay")}
          type="date"
          value={draft.firstDay}
          onChange={(event) => onChange({ firstDay: event.currentTarget.value })}
        />
        <NumberInput
          label={t("oncall.days")}
          min={1}
          max={366}
          allowDecimal={false}
          value={draft.days}
          onChange={(days) => onChange({ days })}
        />
        <TextInput
          label={t("oncall.handover")}
          placeholder={t("time.ofDay")}
          maxLength={5}
          value={draft.handover}
          onChange={(event) => onChange({ handover: event.currentTarget.value.slice(0, 5) })}
        />
        <ZoneField draft={draft} onChange={onChange} />
      </div>
    </>
  );
}

function CalendarFields({ draft, rotation, file, onFile, onChange }: Props) {
  const { t } = useTranslation();
  return (
    <>
      <SecretField
        label={t("oncall.url")}
        description={rotation?.has_secret ? t("oncall.urlKept") : t("oncall.urlText")}
        placeholder="https://…/basic.ics"
        value={draft.url}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
      />
      {!rotation?.has_secret && !draft.url && (
        <div className={classes.buttons}>
          <FileButton onChange={onFile} accept=".ics,text/calendar">
            {(button) => (
              <Button {...button} size="xs" variant="default">
                {t("oncall.file")}
              </Button>
            )}
          </FileButton>
          <span className="dim">{file?.name ?? String(rotation?.source.file ?? t("oncall.noFile"))}</span>
        </div>
      )}
      <ZoneField draft={draft} onChange={onChange} />
    </>
  );
}

function PagerDutyFields({ draft, rotation, onChange }: Props) {
  const { t } = useTranslation();
  return (
    <>
      <div className={classes.row}>
        <TextInput
          label={t("oncall.server")}
          value={draft.server}
          onChange={(event) => onChange({ server: event.currentTarget.value })}
        />
        <SecretField
          label={t("oncall.token")}
          description={rotation?.has_secret ? t("oncall.tokenKept") : undefined}
          value={draft.token}
          onChange={(event) => onChange({ token: event.currentTarget.value })}
        />
      </div>
      <div className={classes.row}>
        <TagsInput
          label={t("oncall.pagerSchedules")}
          placeholder="PABC123"
          value={[...draft.schedules]}
          onChange={(schedules) => onChange({ schedules })}
        />
        <TagsInput
          label={t("oncall.pagerPolicies")}
          placeholder="PXYZ789"
          value={[...draft.policies]}
          onChange={(policies) => onChange({ policies })}
        />
      </div>
    </>
  );
}

/** Form fields that map names of an external calendar to accounts, for names that match no account. */
function Accounts({ draft, rotation, onChange }: Props) {
  const { t } = useTranslation();
  const people = useOncallCandidates(true).data ?? [];
  const unknown = [...new Set([...listUnknownNames(rotation), ...Object.keys(draft.accounts)])];
  if (unknown.length === 0) return null;
  return (
    <fieldset className={classes.stack}>
      <legend>{t("oncall.accounts")}</legend>
      {unknown.map((name) => (
        <Select
          key={name}
          label={name}
          placeholder={t("oncall.noAccount")}
          data={people.map((person) => ({ value: person.id, label: person.name }))}
          value={draft.accounts[name] ?? null}
          onChange={(id) => {
            const { [name]: _, ...rest } = draft.accounts;
            onChange({ accounts: id ? { ...rest, [name]: id } : rest });
          }}
          searchable
          clearable
        />
      ))}
    </fieldset>
  );
}

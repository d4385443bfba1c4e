import { Button, Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { playbookIdOf } from "../../../core/incidents/chain";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { canDismissPlaybook } from "../chain/playbookState";
import { EditConflict } from "../page/EditConflict";
import classes from "../page/Incidents.module.css";

interface Props {
  incident: Incident;
  onStep?: (key: string) => void;
}

const MIN_REASON_LENGTH = 3;

/** Open steps that block a state change, by playbook. Steps can be opened, or selected and waived with a reason. */
export function OpenStepsPanel({ incident, onStep }: Props) {
  const { t } = useTranslation();
  const books = [...new Set(incident.gaps.map(playbookIdOf))];
  return (
    <ul className={classes.openBooks} aria-label={t("incidents.refusal.steps")}>
      {books.map((book) => (
        <OpenPlaybook key={book} incident={incident} book={book} {...(onStep ? { onStep } : {})} />
      ))}
    </ul>
  );
}

function OpenPlaybook({ incident, book, onStep }: Props & { book: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const write = useIncidentWrite(incident);
  const [reason, setReason] = useState("");
  const [without, setWithout] = useState<readonly string[]>([]);
  const steps = incident.gaps.filter((key) => playbookIdOf(key) === book);
  const chosen = steps.filter((key) => !without.includes(key));
  const title =
    localize(incident.playbooks.find((playbook) => playbook.id === book)?.title) || t("incidents.ownCause");
  const text = reason.trim();
  const ready = text.length >= MIN_REASON_LENGTH;
  const waive = () => write.send({ method: "POST", path: "/waivers", body: { steps: chosen, reason: text } });
  const dismissPlaybook = () =>
    write.send({ method: "PATCH", path: `/playbooks/${book}`, body: { dismissed: true, reason: text } });
  return (
    <li>
      <h4 className={classes.openTitle}>{title}</h4>
      <StepCheckboxes
        incident={incident}
        steps={steps}
        chosen={chosen}
        onChange={(now) => setWithout(steps.filter((key) => !now.includes(key)))}
        {...(onStep ? { onStep } : {})}
      />
      <span className={classes.waive}>
        <TextInput
          size="xs"
          aria-label={t("incidents.step.waiveReasonOf", { step: title })}
          placeholder={t("incidents.step.waiveReason")}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            if (ready && chosen.length > 0) waive();
          }}
        />
        <Button
          size="xs"
          variant="default"
          disabled={!ready || chosen.length === 0}
          loading={write.pending}
          onClick={waive}
        >
          {t("incidents.step.waiveCount", { count: chosen.length })}
        </Button>
        {canDismissPlaybook(incident, book) && (
          <Button
            size="xs"
            variant="default"
            disabled={!ready}
            loading={write.pending}
            title={t("incidents.dismissal.text")}
            onClick={dismissPlaybook}
          >
            {t("incidents.dismissal.button")}
          </Button>
        )}
      </span>
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
    </li>
  );
}

interface ChoiceProps extends Props {
  steps: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}

/** Checkboxes of steps, labeled with their questions. */
export function StepCheckboxes({ incident, steps, chosen, onChange, onStep }: ChoiceProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  return (
    <ul className={classes.openSteps}>
      {steps.map((key) => {
        const question = localize(incident.steps.find((step) => step.key === key)?.question) || key;
        return (
          <li key={key}>
            <Checkbox
              size="xs"
              label={onStep ? undefined : question}
              aria-label={t("incidents.step.waiveThis", { step: question })}
              checked={chosen.includes(key)}
              onChange={(event) =>
                onChange(
                  event.currentTarget.checked ? [...chosen, key] : chosen.filter((item) => item !== key),
                )
              }
            />
            {onStep && (
              <Button size="compact-sm" variant="subtle" onClick={() => onStep(key)}>
                {question}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { ErrorLine } from "../../components/States";
import { ApiError } from "../../lib/api";
import { usePick } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { Conflict } from "./Conflict";
import classes from "./Incidents.module.css";
import { useWords } from "./useWords";

interface Props {
  incident: Incident;
  error: unknown;
  onStep?: (key: string) => void;
}

const STEPS_OPEN = "incident.steps_open";
const REASON_LEAST = 3;

/** What the server refused, in its words; open steps as a list that leads to each, or waives it here with a reason. */
export function Refusal({ incident, error, onStep }: Props) {
  const { t } = useTranslation();
  const words = useWords(incident);
  if (!error) return null;
  const open = error instanceof ApiError && error.sentence?.key === STEPS_OPEN;
  return (
    <div className={classes.refusal}>
      {open ? (
        <p className={classes.refused} role="alert">
          {words(error.sentence)}
        </p>
      ) : (
        <ErrorLine error={error} />
      )}
      {open && incident.gaps.length === 0 && <p>{t("incidents.refusal.noneLeft")}</p>}
      {open && (
        <ul className={classes.openSteps} aria-label={t("incidents.refusal.steps")}>
          {incident.gaps.map((key) => (
            <OpenStep key={key} incident={incident} step={key} {...(onStep ? { onStep } : {})} />
          ))}
        </ul>
      )}
    </div>
  );
}

function OpenStep({
  incident,
  step,
  onStep,
}: {
  incident: Incident;
  step: string;
  onStep?: (key: string) => void;
}) {
  const { t } = useTranslation();
  const pick = usePick();
  const write = useWrite(incident);
  const [reason, setReason] = useState("");
  const asks = pick(incident.steps.find((one) => one.key === step)?.asks) || step;
  const waive = () => write.send({ method: "POST", path: "/waivers", body: { step, reason: reason.trim() } });
  return (
    <li>
      <Button size="compact-sm" variant="subtle" onClick={() => onStep?.(step)}>
        {asks}
      </Button>
      <span className={classes.waive}>
        <TextInput
          size="xs"
          aria-label={t("incidents.step.waiveReasonOf", { step: asks })}
          placeholder={t("incidents.step.waiveReason")}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            if (reason.trim().length >= REASON_LEAST) waive();
          }}
        />
        <Button
          size="xs"
          variant="default"
          disabled={reason.trim().length < REASON_LEAST}
          loading={write.pending}
          onClick={waive}
        >
          {t("incidents.step.waive")}
        </Button>
      </span>
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
    </li>
  );
}

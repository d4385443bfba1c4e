import { Checkbox, SegmentedControl, Select, Textarea } from "@mantine/core";
import { useState } from "react";
import { VERDICT_STATES, VerdictIcon } from "../../../components/VerdictIcon";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PinItem } from "../../../widgets/pins/PinItem";
import classes from "../evidence/Evidence.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

const VERDICTS = ["supports", "refutes", "inconclusive"] as const;
const ALL_HOSTS = "all";

/** Dialog that records a user's verdict on a step, with host and pins. The server rejects a verdict without pins. */
export function VerdictDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const { step, host } = view;
  const write = useIncidentWrite(incident, onClose, true);
  const [verdict, setVerdict] = useState<(typeof VERDICTS)[number]>("supports");
  const [on, setOn] = useState(host?.id ?? ALL_HOSTS);
  const [note, setNote] = useState("");
  const own = incident.pins.filter((pin) => pin.step === step?.key);
  const others = incident.pins.filter((pin) => pin.step !== step?.key);
  const [pins, setPins] = useState<readonly string[]>(() => own.map((pin) => pin.id));
  const flip = (id: string) => setPins(pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id]);
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.verdict.set")}
      submit={t("incidents.verdict.send")}
      ready={step !== undefined}
      onSubmit={() =>
        step &&
        write.send({
          method: "POST",
          path: "/verdicts",
          body: { step: step.key, host_id: on === ALL_HOSTS ? null : on, verdict, pins, note: note.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.question}>{localize(step?.question)}</p>
      <SegmentedControl
        aria-label={t("incidents.verdict.label")}
        value={verdict}
        onChange={(value) => setVerdict(value as typeof verdict)}
        data={VERDICTS.map((verdict) => ({
          value: verdict,
          label: (
            <span className={classes.choice}>
              <VerdictIcon verdict={VERDICT_STATES[verdict]} /> {t(`playbooks.verdict.${verdict}`)}
            </span>
          ),
        }))}
      />
      <Select
        label={t("incidents.verdict.on")}
        value={on}
        allowDeselect={false}
        data={[
          ...incident.hosts.map((host) => ({ value: host.id, label: host.name })),
          { value: ALL_HOSTS, label: t("incidents.verdict.allHosts") },
        ]}
        onChange={(value) => setOn(value ?? ALL_HOSTS)}
      />
      <fieldset className={classes.pinChoices}>
        <legend>{t("incidents.verdict.cites")}</legend>
        {incident.pins.length === 0 && <p className="dim">{t("incidents.verdict.noPins")}</p>}
        <ul className={classes.list}>
          {[...own, ...others].map((pin) => (
            <PinItem
              key={pin.id}
              incident={incident}
              pin={pin}
              check={false}
              action={
                <Checkbox
                  size="xs"
                  checked={pins.includes(pin.id)}
                  onChange={() => flip(pin.id)}
                  aria-label={t("incidents.verdict.cite", { what: t(`incidents.pin.kind.${pin.kind}`) })}
                />
              }
            />
          ))}
        </ul>
      </fieldset>
      <Textarea
        label={t("incidents.verdict.note")}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        autosize
        minRows={2}
      />
    </IncidentForm>
  );
}

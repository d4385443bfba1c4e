import { Checkbox, SegmentedControl, Select, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { LOOKS, Verdict } from "../../components/Verdict";
import { usePick } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { PinItem } from "../../renderers/incident/PinItem";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Evidence.module.css";

const VERDICTS = ["supports", "refutes", "inconclusive"] as const;
const ALL = "all";

/** What a person sees in a step, on which host, and the evidence for it. Without evidence the server refuses it. */
export function VerdictDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const { step, host } = view;
  const write = useWrite(incident, onClose, true);
  const [verdict, setVerdict] = useState<(typeof VERDICTS)[number]>("supports");
  const [on, setOn] = useState(host?.id ?? ALL);
  const [note, setNote] = useState("");
  const own = incident.pins.filter((one) => one.step === step?.key);
  const others = incident.pins.filter((one) => one.step !== step?.key);
  const [pins, setPins] = useState<readonly string[]>(() => own.map((one) => one.id));
  const flip = (id: string) => setPins(pins.includes(id) ? pins.filter((one) => one !== id) : [...pins, id]);
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.verdict.give")}
      submit={t("incidents.verdict.send")}
      ready={step !== undefined}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/verdicts",
          body: { step: step?.key, host_id: on === ALL ? null : on, verdict, pins, note: note.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.asks}>{pick(step?.asks)}</p>
      <SegmentedControl
        aria-label={t("incidents.verdict.label")}
        value={verdict}
        onChange={(value) => setVerdict(value as typeof verdict)}
        data={VERDICTS.map((one) => ({
          value: one,
          label: (
            <span className={classes.choice}>
              <Verdict look={LOOKS[one]} /> {t(`playbooks.verdict.${one}`)}
            </span>
          ),
        }))}
      />
      <Select
        label={t("incidents.verdict.on")}
        value={on}
        allowDeselect={false}
        data={[
          ...incident.hosts.map((one) => ({ value: one.id, label: one.name })),
          { value: ALL, label: t("incidents.verdict.allHosts") },
        ]}
        onChange={(value) => setOn(value ?? ALL)}
      />
      <fieldset className={classes.cites}>
        <legend>{t("incidents.verdict.cites")}</legend>
        {incident.pins.length === 0 && <p className="dim">{t("incidents.verdict.noPins")}</p>}
        <ul className={classes.list}>
          {[...own, ...others].map((one) => (
            <PinItem
              key={one.id}
              incident={incident}
              pin={one}
              check={false}
              action={
                <Checkbox
                  size="xs"
                  checked={pins.includes(one.id)}
                  onChange={() => flip(one.id)}
                  aria-label={t("incidents.verdict.cite", { what: t(`incidents.pin.kind.${one.kind}`) })}
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
    </ActForm>
  );
}

import { Checkbox, Select, Textarea } from "@mantine/core";
import { useState } from "react";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useCauses } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PinItem } from "../../../widgets/pins/PinItem";
import evidence from "../evidence/Evidence.module.css";
import classes from "../page/Incidents.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

/** Dialog that rejects a named cause. The rejection lowers the accuracy displayed for that cause. */
export function RejectCauseDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const names = useNames();
  const causes = useCauses().data;
  const write = useIncidentWrite(incident, onClose, true);
  const [truth, setTruth] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [pins, setPins] = useState<readonly string[]>([]);
  const unproven = truth !== null && pins.length === 0;
  const flip = (id: string) => setPins(pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id]);
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.rejection.title")}
      submit={t("incidents.rejection.send")}
      ready={!unproven}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/cause-rejections",
          body: { cause: view.what, true_cause: truth, pins, note: note.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.summary}>{names.cause(view.what)}</p>
      <p className={classes.hint}>{t("incidents.rejection.text")}</p>
      <Select
        label={t("incidents.rejection.actualCauseLabel")}
        placeholder={t("incidents.rejection.unknown")}
        data={[...(causes?.keys() ?? [])]
          .filter((item) => item !== view.what)
          .map((item) => ({ value: item, label: names.cause(item) }))}
        value={truth}
        onChange={setTruth}
        searchable
        clearable
      />
      <Textarea
        label={t("incidents.rejection.note")}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
      {unproven && <p className={classes.hint}>{t("incidents.rejection.needsPin")}</p>}
      {incident.pins.length > 0 && (
        <fieldset className={evidence.pinChoices}>
          <legend>{t("incidents.verdict.cites")}</legend>
          <ul className={evidence.list}>
            {incident.pins.map((pin) => (
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
      )}
    </IncidentForm>
  );
}

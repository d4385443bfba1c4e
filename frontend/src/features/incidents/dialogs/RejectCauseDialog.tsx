import { Checkbox, Select, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWrite } from "../../lib/incidents";
import { useCauses } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { PinItem } from "../../renderers/incident/PinItem";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import evidence from "./Evidence.module.css";
import classes from "./Incidents.module.css";

/** A cause that was named and was not it. It is counted, so that the name is trusted no more than it deserves. */
export function WrongDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const names = useNames();
  const causes = useCauses().data;
  const write = useWrite(incident, onClose, true);
  const [truth, setTruth] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [pins, setPins] = useState<readonly string[]>([]);
  const unproven = truth !== null && pins.length === 0;
  const flip = (id: string) => setPins(pins.includes(id) ? pins.filter((one) => one !== id) : [...pins, id]);
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.wrong.title")}
      submit={t("incidents.wrong.send")}
      ready={!unproven}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/wrong",
          body: { cause: view.what, true_cause: truth, pins, note: note.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.says}>{names.cause(view.what)}</p>
      <p className={classes.hint}>{t("incidents.wrong.text")}</p>
      <Select
        label={t("incidents.wrong.truth")}
        placeholder={t("incidents.wrong.unknown")}
        data={[...(causes?.keys() ?? [])]
          .filter((one) => one !== view.what)
          .map((one) => ({ value: one, label: names.cause(one) }))}
        value={truth}
        onChange={setTruth}
        searchable
        clearable
      />
      <Textarea
        label={t("incidents.wrong.note")}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
      {unproven && <p className={classes.hint}>{t("incidents.wrong.needsPin")}</p>}
      {incident.pins.length > 0 && (
        <fieldset className={evidence.cites}>
          <legend>{t("incidents.verdict.cites")}</legend>
          <ul className={evidence.list}>
            {incident.pins.map((one) => (
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
      )}
    </ActForm>
  );
}

import { Select, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWrite } from "../../lib/incidents";
import { useCauses } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";

/** An explanation that no playbook here has. */
export function HypothesisDialog({ incident, onClose }: ActProps) {
  const { t } = useTranslation();
  const names = useNames();
  const causes = useCauses().data;
  const write = useWrite(incident, onClose, true);
  const [says, setSays] = useState("");
  const [cause, setCause] = useState<string | null>(null);
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.hypothesis.add")}
      submit={t("action.add")}
      ready={says.trim() !== ""}
      onSubmit={() =>
        write.send({ method: "POST", path: "/hypotheses", body: { says: says.trim(), cause: cause ?? "" } })
      }
      onClose={onClose}
    >
      <Textarea
        label={t("incidents.hypothesis.says")}
        required
        maxLength={300}
        value={says}
        onChange={(event) => setSays(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
      <Select
        label={t("incidents.hypothesis.cause")}
        placeholder={t("incidents.hypothesis.noCause")}
        data={[...(causes?.keys() ?? [])].map((one) => ({ value: one, label: names.cause(one) }))}
        value={cause}
        onChange={setCause}
        searchable
        clearable
      />
    </ActForm>
  );
}

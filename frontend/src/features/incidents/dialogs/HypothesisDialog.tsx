import { Select, Textarea } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useWrite } from "../../lib/incidents";
import { useCauses, useMetrics } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Incidents.module.css";

const NUMBERS_SHOWN = 60;
const BETTER = ["lower", "higher"] as const;

/** Every number that a fix can be judged by, under its name. */
function useNumbers(): { value: string; label: string }[] {
  const metrics = useMetrics().data;
  const { metric } = useNames();
  return useMemo(
    () =>
      (metrics ?? [])
        .map((one) => ({ value: one.id, label: metric(one.id) }))
        .sort((a, b) => a.label.localeCompare(b.label)),
    [metrics, metric],
  );
}

/** An explanation that no playbook here has. */
export function HypothesisDialog({ incident, onClose }: ActProps) {
  const { t } = useTranslation();
  const names = useNames();
  const causes = useCauses().data;
  const write = useWrite(incident, onClose, true);
  const [says, setSays] = useState("");
  const [cause, setCause] = useState<string | null>(null);
  const [read, setRead] = useState<string | null>(null);
  const [better, setBetter] = useState<(typeof BETTER)[number]>("lower");
  const numbers = useNumbers();
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.hypothesis.add")}
      submit={t("action.add")}
      ready={says.trim() !== ""}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/hypotheses",
          body: { says: says.trim(), cause: cause ?? "", ...(read ? { primary: { read, better } } : {}) },
        })
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
      <div className={classes.two}>
        <Select
          label={t("incidents.hypothesis.primary")}
          description={t("incidents.hypothesis.primaryText")}
          data={numbers}
          limit={NUMBERS_SHOWN}
          value={read}
          onChange={setRead}
          searchable
          clearable
        />
        <Select
          label={t("incidents.hypothesis.better")}
          description={t("incidents.hypothesis.betterText")}
          data={BETTER.map((one) => ({ value: one, label: t(`incidents.hypothesis.is.${one}`) }))}
          value={better}
          onChange={(value) => value && setBetter(value as typeof better)}
          allowDeselect={false}
          disabled={read === null}
        />
      </div>
    </ActForm>
  );
}

import { Select, Textarea } from "@mantine/core";
import { useMemo, useState } from "react";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useCauses, useMetrics } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

const MAX_NUMBERS = 60;
const LOWER_IS_BETTER = ["lower", "higher"] as const;

/** Return all metrics that can verify a fix, as options sorted by name. */
function useNumbers(): { value: string; label: string }[] {
  const metrics = useMetrics().data;
  const { metric } = useNames();
  return useMemo(
    () =>
      (metrics ?? [])
        .map((item) => ({ value: item.id, label: metric(item.id) }))
        .sort((a, b) => a.label.localeCompare(b.label)),
    [metrics, metric],
  );
}

/** Dialog that adds a hypothesis which none of the incident's playbooks contains. */
export function HypothesisDialog({ incident, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const names = useNames();
  const causes = useCauses().data;
  const write = useIncidentWrite(incident, onClose, true);
  const [summary, setSummary] = useState("");
  const [cause, setCause] = useState<string | null>(null);
  const [read, setRead] = useState<string | null>(null);
  const [better, setBetter] = useState<(typeof LOWER_IS_BETTER)[number]>("lower");
  const numbers = useNumbers();
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.hypothesis.add")}
      submit={t("action.add")}
      ready={summary.trim() !== ""}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: "/hypotheses",
          body: {
            summary: summary.trim(),
            cause: cause ?? "",
            ...(read ? { primary: { read, better } } : {}),
          },
        })
      }
      onClose={onClose}
    >
      <Textarea
        label={t("incidents.hypothesis.summary")}
        required
        maxLength={300}
        value={summary}
        onChange={(event) => setSummary(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
      <Select
        label={t("incidents.hypothesis.cause")}
        placeholder={t("incidents.hypothesis.noCause")}
        data={[...(causes?.keys() ?? [])].map((item) => ({ value: item, label: names.cause(item) }))}
        value={cause}
        onChange={setCause}
        searchable
        clearable
      />
      <div className={classes.twoColumns}>
        <Select
          label={t("incidents.hypothesis.primary")}
          description={t("incidents.hypothesis.primaryText")}
          data={numbers}
          limit={MAX_NUMBERS}
          value={read}
          onChange={setRead}
          searchable
          clearable
        />
        <Select
          label={t("incidents.hypothesis.better")}
          description={t("incidents.hypothesis.betterText")}
          data={LOWER_IS_BETTER.map((item) => ({ value: item, label: t(`incidents.hypothesis.is.${item}`) }))}
          value={better}
          onChange={(value) => value && setBetter(value as typeof better)}
          allowDeselect={false}
          disabled={read === null}
        />
      </div>
    </IncidentForm>
  );
}

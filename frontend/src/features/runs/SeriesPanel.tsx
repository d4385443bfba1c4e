import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { formatQuantity } from "../../core/text/format";
import { get, queryKeys, useMetrics } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { SeriesSummary } from "./api";
import classes from "./Run.module.css";

const MAX_ROWS = 300;

/** Table of all series of the run with their minimum, mean and maximum. */
export function SeriesPanel({ runId }: { runId: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [needle, setNeedle] = useState("");
  const metrics = new Map((useMetrics().data ?? []).map((m) => [m.id, m]));
  const query = useQuery({
    queryKey: [...queryKeys.run(runId), "series"],
    queryFn: () => get(`/runs/${runId}/series`),
  });
  return (
    <Panel
      title={t("run.series")}
      flush
      headerExtra={
        <TextInput
          size="xs"
          aria-label={t("run.filter")}
          placeholder={t("run.filter")}
          value={needle}
          onChange={(event) => setNeedle(event.currentTarget.value)}
        />
      }
    >
      <QueryContent query={query}>
        {(series) => {
          const matches = series.filter((s) => text(s).includes(needle.toLowerCase()));
          return (
            <>
              <DataTable label={t("run.series")} maxHeight={420}>
                <thead>
                  <tr>
                    <th>{t("run.metric")}</th>
                    <th>{t("run.labels")}</th>
                    <th className="right">{t("run.min")}</th>
                    <th className="right">{t("run.mean")}</th>
                    <th className="right">{t("run.max")}</th>
                    <th className="right">n</th>
                  </tr>
                </thead>
                <tbody>
                  {matches.slice(0, MAX_ROWS).map((s) => (
                    <tr key={`${s.metric}${JSON.stringify(s.labels)}`}>
                      <td title={localize(metrics.get(s.metric)?.meaning)}>
                        {localize(metrics.get(s.metric)?.title) || s.metric}{" "}
                        <span className="mono dim">{s.metric}</span>
                      </td>
                      <td className="mono">
                        {Object.entries(s.labels)
                          .map(([name, value]) => `${name}=${value}`)
                          .join(" ") || (s.axis ? t("run.perAxis", { axis: s.axis }) : "")}
                      </td>
                      <td className="right num">{formatQuantity(s.min, s.unit)}</td>
                      <td className="right num">{formatQuantity(s.mean, s.unit)}</td>
                      <td className="right num">{formatQuantity(s.max, s.unit)}</td>
                      <td className="right num dim">{s.sample_count}</td>
                    </tr>
                  ))}
                </tbody>
              </DataTable>
              {matches.length > MAX_ROWS && (
                <p className={classes.more}>{t("run.rest", { visible: MAX_ROWS, all: matches.length })}</p>
              )}
            </>
          );
        }}
      </QueryContent>
    </Panel>
  );
}

const text = (s: SeriesSummary): string => `${s.metric} ${Object.values(s.labels).join(" ")}`.toLowerCase();

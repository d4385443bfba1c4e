import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { List, SeriesSummary } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { Loaded } from "../../components/States";
import { quantity } from "../../core/format";
import { usePick } from "../../lib/i18n";
import { get, items, keys, useMetrics } from "../../lib/queries";
import classes from "./Run.module.css";

const SHOWN = 300;

/** Every series of the run in numbers: how low, how high, what on average. */
export function SeriesPanel({ runId }: { runId: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const [needle, setNeedle] = useState("");
  const metrics = new Map((useMetrics().data ?? []).map((m) => [m.id, m]));
  const query = useQuery({
    queryKey: [...keys.run(runId), "series"],
    queryFn: () => get<SeriesSummary[] | List<SeriesSummary>>(`/runs/${runId}/series`).then(items),
  });
  return (
    <Panel
      title={t("run.series")}
      flush
      aside={
        <TextInput
          size="xs"
          aria-label={t("run.filter")}
          placeholder={t("run.filter")}
          value={needle}
          onChange={(event) => setNeedle(event.currentTarget.value)}
        />
      }
    >
      <Loaded query={query}>
        {(series) => {
          const found = series.filter((s) => text(s).includes(needle.toLowerCase()));
          return (
            <>
              <Grid label={t("run.series")} maxHeight={420}>
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
                  {found.slice(0, SHOWN).map((s) => (
                    <tr key={`${s.metric}${JSON.stringify(s.labels)}`}>
                      <td title={pick(metrics.get(s.metric)?.meaning)}>
                        {pick(metrics.get(s.metric)?.title) || s.metric}{" "}
                        <span className="mono dim">{s.metric}</span>
                      </td>
                      <td className="mono">
                        {Object.entries(s.labels)
                          .map(([name, value]) => `${name}=${value}`)
                          .join(" ") || (s.axis ? t("run.perAxis", { axis: s.axis }) : "")}
                      </td>
                      <td className="right num">{quantity(s.min, s.unit)}</td>
                      <td className="right num">{quantity(s.mean, s.unit)}</td>
                      <td className="right num">{quantity(s.max, s.unit)}</td>
                      <td className="right num dim">{s.n}</td>
                    </tr>
                  ))}
                </tbody>
              </Grid>
              {found.length > SHOWN && (
                <p className={classes.more}>{t("run.rest", { shown: SHOWN, all: found.length })}</p>
              )}
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

const text = (s: SeriesSummary): string => `${s.metric} ${Object.values(s.labels).join(" ")}`.toLowerCase();

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Collapsible } from "../../components/Collapsible";
import { BlockSkeleton, EmptyState, QueryContent } from "../../components/EmptyState";
import { get, queryKeys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Visual } from "./api";
import { ChartFrame, ChartUnavailable } from "./ChartFrame";
import classes from "./charts.module.css";

interface Props {
  runId: string;
  /** Rule ids: only charts of these rules. */
  findings?: readonly string[];
  /** Chart ids: only these charts, in addition to those of `findings`. */
  ids?: readonly string[];
  /** Id of the baseline run, for charts that compare two runs. */
  baseline?: string | undefined;
  /** Render nothing if there are no charts, for use within another panel. */
  isRelated?: boolean;
}

/** Fetch the charts of a run. They are invalidated together with the run. */
export const useRunCharts = (
  runId: string,
  ids: readonly string[] = [],
  findings: readonly string[] = [],
  baseline: string | undefined = undefined,
) =>
  useQuery({
    queryKey: [...queryKeys.run(runId), "visuals", [...ids], [...findings], baseline ?? ""],
    queryFn: () => get(`/runs/${runId}/charts`, { ids: [...ids], findings: [...findings], baseline }),
    enabled: runId !== "",
    placeholderData: keepPreviousData,
  });

/** Render the charts of a run, followed by a list of charts without data and the reasons. */
export function RunCharts({ runId, findings = [], ids = [], baseline, isRelated = false }: Props) {
  const { t } = useTranslation();
  const query = useRunCharts(runId, ids, findings, baseline);
  if (isRelated && !query.data?.charts.some((chart) => chart.body !== null)) return null;
  return (
    <QueryContent query={query} skeleton={<BlockSkeleton height={240} />}>
      {({ charts: visuals }) =>
        visuals.length === 0 ? (
          <EmptyState title={t("visuals.none")}>{t("visuals.noneText")}</EmptyState>
        ) : (
          <ChartList visuals={visuals} />
        )
      }
    </QueryContent>
  );
}

function ChartList({ visuals }: { visuals: readonly Visual[] }) {
  const { t } = useTranslation();
  const missing = visuals.filter((chart) => chart.body === null);
  return (
    <>
      {missing.length < visuals.length && (
        <div className={classes.chartGrid}>
          {visuals.map(
            (chart) => chart.body !== null && <ChartFrame key={chart.id} visual={chart} body={chart.body} />,
          )}
        </div>
      )}
      {missing.length > 0 && (
        <Collapsible
          id="undrawn"
          open={missing.length === visuals.length}
          title={t("visuals.missing")}
          count={missing.length}
          hint={t("visuals.missingHint")}
        >
          <ul className={classes.missing}>
            {missing.map((chart) => (
              <ChartUnavailable key={chart.id} visual={chart} />
            ))}
          </ul>
        </Collapsible>
      )}
    </>
  );
}

import type { Run } from "../../client/models";
import { BlockSkeleton, EmptyState, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { useRunFindings } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { EvaluationSummary, FindingsBody } from "../../widgets/findings/FindingsPanel";

/** Rules are evaluated within seconds of the last artifact. After this time, the panel stops waiting for findings. */
const WAITS_MS = 60_000;

/** Return whether a run failed because none of its collectors returned data. */
export const isWithoutData = ({ state, collectors }: Run): boolean =>
  state === "failed" && !collectors.some((collector) => collector.state === "done");

/** Findings of a run, or the reason why no rule was evaluated. */
export function RunFindingsPanel({ run }: { run: Run }) {
  const { t } = useTranslation();
  const readable = run.state === "done" || run.state === "partial";
  const fresh = !run.ended_at || Date.now() - Date.parse(run.ended_at) < WAITS_MS;
  const query = useRunFindings(run.id, readable && fresh);
  return (
    <Panel
      flush
      id="findings"
      title={t("findings.title")}
      headerExtra={
        query.data?.evaluated_at && !isWithoutData(run) && <EvaluationSummary runFindings={query.data} />
      }
    >
      <QueryContent query={query} skeleton={<BlockSkeleton height={180} />}>
        {(data) =>
          data.evaluated_at && !isWithoutData(run) ? (
            <FindingsBody
              runFindings={data}
              hostId={run.host?.id}
              triedCollectors={run.collectors.map((collector) => collector.id)}
            />
          ) : readable && fresh ? (
            <BlockSkeleton height={180} />
          ) : (
            <EmptyState title={t("findings.runNotEvaluated")}>
              {readable ? t("findings.runNotEvaluatedText") : t("findings.noData")}
            </EmptyState>
          )
        }
      </QueryContent>
    </Panel>
  );
}

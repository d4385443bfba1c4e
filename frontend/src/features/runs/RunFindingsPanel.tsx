import type { Run } from "../../client/models";
import { BlockSkeleton, EmptyState, Loaded } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { useRunFindings } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { CheckedSummary, FindingsBody } from "../../widgets/findings/FindingsPanel";

/** Rules are evaluated within seconds of the last artifact. After this time, the panel stops waiting for findings. */
const WAITS_MS = 60_000;

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
      headerExtra={query.data?.evaluated_at && <CheckedSummary runFindings={query.data} />}
    >
      <Loaded query={query} skeleton={<BlockSkeleton height={180} />}>
        {(data) =>
          data.evaluated_at ? (
            <FindingsBody
              runFindings={data}
              hostId={run.host?.id}
              tried={run.collectors.map((collector) => collector.id)}
            />
          ) : readable && fresh ? (
            <BlockSkeleton height={180} />
          ) : (
            <EmptyState title={t("findings.notAsked")}>
              {readable ? t("findings.notAskedText") : t("findings.nothingCame")}
            </EmptyState>
          )
        }
      </Loaded>
    </Panel>
  );
}

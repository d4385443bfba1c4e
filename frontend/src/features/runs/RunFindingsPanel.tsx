import { useTranslation } from "react-i18next";
import type { Run } from "../../client/types";
import { Panel } from "../../components/Page";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { useRunFindings } from "../../lib/queries";
import { FindingsBody, Looked } from "../../renderers/findings/FindingsPanel";

/** Rules are asked within seconds of the last artifact; a run that ended longer ago will not be asked any more. */
const WAITS_MS = 60_000;

/** What rules made of this run; where they have not been asked, that is said. */
export function Findings({ run }: { run: Run }) {
  const { t } = useTranslation();
  const readable = run.state === "done" || run.state === "partial";
  const fresh = !run.ended_at || Date.now() - Date.parse(run.ended_at) < WAITS_MS;
  const query = useRunFindings(run.id, readable && fresh);
  return (
    <Panel
      flush
      id="findings"
      title={t("findings.title")}
      aside={query.data?.evaluated_at && <Looked found={query.data} />}
    >
      <Loaded query={query} skeleton={<BlockSkeleton height={180} />}>
        {(found) =>
          found.evaluated_at ? (
            <FindingsBody found={found} hostId={run.host?.id} tried={run.collectors.map((one) => one.id)} />
          ) : readable && fresh ? (
            <BlockSkeleton height={180} />
          ) : (
            <Empty title={t("findings.notAsked")}>
              {readable ? t("findings.notAskedText") : t("findings.nothingCame")}
            </Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}

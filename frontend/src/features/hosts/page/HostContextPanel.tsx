import type { HostContext } from "../../../client/models";
import { Collapsible } from "../../../components/Collapsible";
import { BlockSkeleton, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { Panel } from "../../../components/Page";
import { useHostContext } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { HostContextView } from "../../../widgets/host-context/HostContext";
import classes from "./HostPage.module.css";

/** Host context from the newest parsed run, with a summary of atypical values in its title. */
export function HostContextPanel({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const query = useHostContext(hostId);
  const run = query.data?.run_id;
  return (
    <Panel flush>
      <Collapsible
        id="context"
        title={t("context.title")}
        hint={query.data && <ContextSummary context={query.data} />}
      >
        {run && (
          <p className={classes.ofRun}>
            <Link to="/runs/$runId" params={{ runId: run }}>
              {t("context.ofRun", { at: time.instant(query.data?.t0_ns, 1e9) })}
            </Link>
            <Link to="/runs/$runId/calls" params={{ runId: run }}>
              {t("calls.title")}
            </Link>
          </p>
        )}
        <QueryContent query={query} skeleton={<BlockSkeleton height={220} />}>
          {(context) => <HostContextView context={context} />}
        </QueryContent>
      </Collapsible>
    </Panel>
  );
}

function ContextSummary({ context }: { context: HostContext }) {
  const { t } = useTranslation();
  if (context.run_id === null) return t("context.hintNone");
  const items = context.sections.flatMap((section) => section.items);
  const changes = context.sections.find((section) => section.id === "changes")?.items.length ?? 0;
  const healthy = context.peer_comparison.peers.filter((peer) => peer.healthy).length;
  return [
    t("context.hintAtypical", { count: items.filter((item) => item.atypical).length }),
    t("context.hintChanges", { count: changes }),
    healthy > 0 ? t("context.hintPeers", { count: healthy }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

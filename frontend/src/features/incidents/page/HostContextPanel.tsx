import { Collapsible } from "../../../components/Collapsible";
import { BlockSkeleton, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { useHostContext } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { HostContextView } from "../../../widgets/host-context/HostContext";
import classes from "./Incidents.module.css";

/** Collapsible context of a host: machine, limits, neighbors, changes. Loaded when opened. */
export function HostContextPanel({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  return (
    <Collapsible id="context" title={t("context.title")}>
      <HostContextContent hostId={hostId} />
    </Collapsible>
  );
}

function HostContextContent({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const query = useHostContext(hostId);
  const run = query.data?.run_id;
  return (
    <>
      {run && (
        <p className={classes.hint}>
          <Link to="/runs/$runId/calls" params={{ runId: run }}>
            {t("calls.title")}
          </Link>
        </p>
      )}
      <QueryContent query={query} skeleton={<BlockSkeleton height={220} />}>
        {(context) => <HostContextView context={context} compact />}
      </QueryContent>
    </>
  );
}

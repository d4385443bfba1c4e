import type { Host } from "../../../client/models";
import { EmptyState, QueryContent } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import type { useCaptures } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CapturesTable } from "../../../widgets/capture-progress/CapturesTable";
import { WatchersPanel } from "../../../widgets/watchers/WatchersPanel";
import { HostChanges } from "./HostChanges";
import { HostContextPanel } from "./HostContextPanel";
import { HostMutes } from "./HostMutes";
import { PreflightPanel } from "./PreflightPanel";
import { TracingPanel } from "./TracingPanel";

interface HostDetailsProps {
  host: Host;
  captures: ReturnType<typeof useCaptures>;
}

/** Parts of the page of a host below its timeline: mutes, context, changes, watchers, captures and settings. */
export function HostDetails({ host, captures }: HostDetailsProps) {
  const { t } = useTranslation();
  const isActive = host.state === "active";
  // Before the first capture, the page has the preflight check above the timeline.
  const isCaptured = captures.data !== undefined && captures.data.items.length > 0;
  return (
    <>
      <HostMutes hostId={host.id} />
      <HostContextPanel hostId={host.id} />
      <HostChanges hostId={host.id} />
      {isActive && <WatchersPanel host={host.id} />}
      <Panel flush title={t("nav.captures")}>
        <QueryContent query={captures}>
          {({ items }) =>
            items.length > 0 ? (
              <CapturesTable captures={items} host={host.id} />
            ) : (
              <EmptyState title={t("timeline.empty")} />
            )
          }
        </QueryContent>
      </Panel>
      {isCaptured && isActive && <PreflightPanel host={host} />}
      {isActive && <TracingPanel host={host} />}
    </>
  );
}

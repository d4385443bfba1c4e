import { useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { Incident } from "../../../client/models";
import { BlockSkeleton, EmptyState, ErrorState } from "../../../components/EmptyState";
import { Page, Panel } from "../../../components/Page";
import { isoToNs } from "../../../core/time/clock";
import { NS_PER_S, padded, type Range } from "../../../core/time/range";
import { rememberIncident } from "../../../lib/incidents/currentIncident";
import { useIncidentStream } from "../../../lib/incidents/useIncidentStream";
import { useTranslation } from "../../../lib/text/useTranslation";
import { Timeline } from "../../../widgets/timeline/Timeline";
import { AnswerPanel } from "../answer/AnswerPanel";
import { EvidenceChain } from "../chain/EvidenceChain";
import { CommentsPanel } from "../comments/CommentsPanel";
import { IncidentDialogs } from "../dialogs/IncidentDialogs";
import { EvidencePanel } from "../evidence/EvidencePanel";
import { PinsPanel } from "../evidence/PinsPanel";
import { FixesPanel } from "../fixes/FixesPanel";
import { ImportOrigin } from "../import-origin/ImportOrigin";
import { JournalPanel } from "../journal/JournalPanel";
import { NextStepPanel } from "../next-step/NextStepPanel";
import { HostContextPanel } from "./HostContextPanel";
import { HostPicker } from "./HostPicker";
import { IncidentActions, IncidentFacts, IncidentTitle } from "./IncidentHeader";
import classes from "./Incidents.module.css";
import { PaneTabs } from "./PaneTabs";
import { useIncidentKeys } from "./useIncidentKeys";
import { useIncidentMarks } from "./useIncidentMarks";
import { useIncidentView } from "./useIncidentView";

/** Page of an incident: evidence chain, evidence of the selected step, and timeline of the selected host. */
export function IncidentPage() {
  const { incidentId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const { query, link, pollMs } = useIncidentStream(incidentId);
  if (query.data) return <IncidentContent incident={query.data} link={link} pollMs={pollMs} />;
  return (
    <Page title={t("incidents.one")}>
      {query.error ? (
        <Panel>
          <ErrorState error={query.error} retry={() => void query.refetch()} />
        </Panel>
      ) : (
        <div className={classes.panes}>
          <BlockSkeleton height={560} />
          <div>
            <BlockSkeleton height={88} />
            <BlockSkeleton height={420} />
          </div>
        </div>
      )}
    </Page>
  );
}

interface Props {
  incident: Incident;
  link: "live" | "paused";
  pollMs: number | false;
}

const HALF_HOUR_NS = 1800e9;

/** Return the padded time range of a host's runs, else of the incident; undefined without a start time. */
function measuredRange({ runs, window }: Incident, host: string | undefined): Range | undefined {
  const own = runs.filter((run) => run.host_id === host);
  const from = own.flatMap((run) => isoToNs(run.from) ?? []);
  const to = own.flatMap((run) => isoToNs(run.to) ?? []);
  if (from.length > 0 && to.length > 0)
    return padded({ from: Math.min(...from), to: Math.max(...to) }, 0.1, 5 * NS_PER_S);
  const begin = isoToNs(window.from);
  if (begin === undefined) return undefined;
  return padded({ from: begin, to: isoToNs(window.to) ?? begin + HALF_HOUR_NS }, 0.1);
}

function IncidentContent({ incident, link, pollMs }: Props) {
  const { t } = useTranslation();
  const view = useIncidentView(incident);
  const [requestCount, setRequestCount] = useState(0);
  const marks = useIncidentMarks(incident, view, pollMs);
  const { step, host, pane } = view;
  useEffect(
    () => rememberIncident({ incident: incident.id, step: step?.key ?? "" }),
    [incident.id, step?.key],
  );
  const isMeasured = incident.runs.some((run) => run.host_id === host?.id && run.to !== null);
  useIncidentKeys(incident, view, () => setRequestCount((n) => n + 1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: new measurements must not move the visible range
  const initial = useMemo(() => measuredRange(incident, host?.id), [incident.id, host?.id, isMeasured]);
  return (
    <Page
      title={<IncidentTitle incident={incident} />}
      tab={`#${incident.number} ${incident.title}`}
      meta={<IncidentFacts incident={incident} link={link} />}
      actions={<IncidentActions incident={incident} view={view} />}
    >
      <AnswerPanel incident={incident} view={view} />
      <div className={classes.panes}>
        <section className={classes.chainPane} aria-label={t("incidents.chain.title")}>
          <h2 className="visually-hidden">{t("incidents.chain.title")}</h2>
          {incident.origin && <ImportOrigin incident={incident} origin={incident.origin} />}
          <EvidenceChain incident={incident} view={view} />
        </section>
        <div className={classes.right}>
          <NextStepPanel incident={incident} view={view} requestCount={requestCount} />
          <section className={classes.evidencePane} aria-label={t(`incidents.pane.${pane}`)}>
            <PaneTabs incident={incident} view={view} />
            {pane === "evidence" && <EvidencePanel incident={incident} view={view} />}
            {pane === "fixes" && <FixesPanel incident={incident} view={view} />}
            {pane === "pins" && <PinsPanel incident={incident} view={view} />}
            {pane === "comments" && <CommentsPanel incident={incident} view={view} />}
            {pane === "journal" && <JournalPanel incident={incident} pollMs={pollMs} />}
          </section>
          <section className={classes.timePane} aria-label={t("timeline.title")}>
            <div className={classes.paneHead}>
              <h2 className={classes.paneTitle}>{t("timeline.title")}</h2>
              <HostPicker incident={incident} view={view} />
            </div>
            {host && <HostContextPanel key={`where ${host.id}`} hostId={host.id} />}
            {host ? (
              <Timeline
                key={host.id}
                hostId={host.id}
                marks={{ name: t("incidents.marks"), items: marks }}
                {...(initial ? { initial } : {})}
              />
            ) : (
              <EmptyState title={t("incidents.hosts.none")}>{t("incidents.hosts.noneText")}</EmptyState>
            )}
          </section>
        </div>
      </div>
      <IncidentDialogs incident={incident} view={view} />
    </Page>
  );
}

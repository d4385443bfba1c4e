import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import type { Incident } from "../../../client/models";
import { BlockSkeleton, EmptyState } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { LoadingPage } from "../../../components/LoadingPage";
import { NearViewport } from "../../../components/NearViewport";
import { Page } from "../../../components/Page";
import { rememberIncident } from "../../../lib/incidents/currentIncident";
import { useIncidentStream } from "../../../lib/incidents/useIncidentStream";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { AnswerPanel } from "../answer/AnswerPanel";
import { EvidenceChain } from "../chain/EvidenceChain";
import { EvidencePanel } from "../evidence/EvidencePanel";
import { NextStepPanel } from "../next-step/NextStepPanel";
import { HostContextPanel } from "./HostContextPanel";
import { HostPicker } from "./HostPicker";
import { IncidentActions, IncidentFacts, IncidentTitle } from "./IncidentHeader";
import classes from "./Incidents.module.css";
import { PaneTabs } from "./PaneTabs";
import { useIncidentKeys } from "./useIncidentKeys";
import { useIncidentView } from "./useIncidentView";

const CommentsPanel = lazy(() =>
  import("../comments/CommentsPanel").then((m) => ({ default: m.CommentsPanel })),
);
const FixesPanel = lazy(() => import("../fixes/FixesPanel").then((m) => ({ default: m.FixesPanel })));
const ImportOrigin = lazy(() =>
  import("../import-origin/ImportOrigin").then((m) => ({ default: m.ImportOrigin })),
);
const IncidentDialogs = lazy(() =>
  import("../dialogs/IncidentDialogs").then((m) => ({ default: m.IncidentDialogs })),
);
const IncidentTimeline = lazy(() =>
  import("./IncidentTimeline").then((m) => ({ default: m.IncidentTimeline })),
);
const JournalPanel = lazy(() => import("../journal/JournalPanel").then((m) => ({ default: m.JournalPanel })));
const PinsPanel = lazy(() => import("../evidence/PinsPanel").then((m) => ({ default: m.PinsPanel })));

/** Page of an incident: evidence chain, evidence of the selected step, and timeline of the selected host. */
export function IncidentPage() {
  const { incidentId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const { query, link, pollMs } = useIncidentStream(incidentId);
  // Names of causes and collectors that arrive later would wrap lines and move what is below them.
  const isNamed = useNames().ready;
  if (query.data && isNamed) return <IncidentContent incident={query.data} link={link} pollMs={pollMs} />;
  return (
    <LoadingPage
      title={t("incidents.one")}
      above={query.error ? <Link to="/incidents">{t("nav.incidents")}</Link> : undefined}
      query={query}
      actionsWidth={320}
    >
      <BlockSkeleton height={150} />
      <div className={classes.panes}>
        <BlockSkeleton height={560} />
        <div>
          <BlockSkeleton height={88} />
          <BlockSkeleton height={420} />
        </div>
      </div>
    </LoadingPage>
  );
}

interface Props {
  incident: Incident;
  link: "live" | "paused";
  pollMs: number | false;
}

function IncidentContent({ incident, link, pollMs }: Props) {
  const { t } = useTranslation();
  const view = useIncidentView(incident);
  const [requestCount, setRequestCount] = useState(0);
  const { step, host, pane } = view;
  useEffect(
    () => rememberIncident({ incident: incident.id, step: step?.key ?? "" }),
    [incident.id, step?.key],
  );
  useIncidentKeys(incident, view, () => setRequestCount((n) => n + 1));
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
          <Suspense fallback={<BlockSkeleton height={120} />}>
            {incident.origin && <ImportOrigin incident={incident} origin={incident.origin} />}
          </Suspense>
          <EvidenceChain incident={incident} view={view} />
        </section>
        <div className={classes.rightColumn}>
          <NextStepPanel incident={incident} view={view} requestCount={requestCount} />
          <section className={classes.evidencePane} aria-label={t(`incidents.pane.${pane}`)}>
            <PaneTabs incident={incident} view={view} />
            {pane === "evidence" && <EvidencePanel incident={incident} view={view} />}
            <Suspense fallback={<BlockSkeleton height={240} />}>
              {pane === "fixes" && <FixesPanel incident={incident} view={view} />}
              {pane === "pins" && <PinsPanel incident={incident} view={view} />}
              {pane === "comments" && <CommentsPanel incident={incident} view={view} />}
              {pane === "journal" && <JournalPanel incident={incident} pollMs={pollMs} />}
            </Suspense>
          </section>
          <section className={classes.timePane} aria-label={t("timeline.title")}>
            <div className={classes.paneHead}>
              <h2 className={classes.paneTitle}>{t("timeline.title")}</h2>
              <HostPicker incident={incident} view={view} />
            </div>
            {host && <HostContextPanel key={`where ${host.id}`} hostId={host.id} />}
            <NearViewport height={560} margin="-96px">
              {host ? (
                <IncidentTimeline incident={incident} view={view} hostId={host.id} pollMs={pollMs} />
              ) : (
                <EmptyState title={t("incidents.hosts.none")}>{t("incidents.hosts.noneText")}</EmptyState>
              )}
            </NearViewport>
          </section>
        </div>
      </div>
      <Suspense>{view.dialog !== "" && <IncidentDialogs incident={incident} view={view} />}</Suspense>
    </Page>
  );
}

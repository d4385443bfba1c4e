import { useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Page, Panel } from "../../components/Page";
import { BlockSkeleton, Empty, ErrorState } from "../../components/States";
import { isoToNs } from "../../core/clock";
import { NS_PER_S, padded, type Range } from "../../core/range";
import { rememberIncident } from "../../lib/currentIncident";
import { useIncidentStream } from "../../lib/useIncidentStream";
import { Timeline } from "../../renderers/timeline/Timeline";
import { Acts } from "./Acts";
import { Chain } from "./Chain";
import { Comments } from "./Comments";
import { Evidence } from "./Evidence";
import { Fixes } from "./Fixes";
import { Actions, Facts, Title } from "./Head";
import { HostPicker } from "./HostPicker";
import classes from "./Incidents.module.css";
import { Journal } from "./Journal";
import { NextStep } from "./NextStep";
import { Origin } from "./Origin";
import { Panes } from "./Panes";
import { Pins } from "./Pins";
import { useIncidentKeys } from "./useIncidentKeys";
import { useMarks } from "./useMarks";
import { useIncidentView } from "./view";
import { Where } from "./Where";

/** One investigation: the chain, the evidence of the step that is looked at, and the host's time, always in agreement. */
export function IncidentPage() {
  const { incidentId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const { query, link, pollMs } = useIncidentStream(incidentId);
  if (query.data) return <Known incident={query.data} link={link} pollMs={pollMs} />;
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

/** The time that a host was measured in; where it was not, the window of the incident. */
function measured({ runs, window }: Incident, host: string | undefined): Range | undefined {
  const own = runs.filter((one) => one.host_id === host);
  const from = own.flatMap((one) => isoToNs(one.from) ?? []);
  const to = own.flatMap((one) => isoToNs(one.to) ?? []);
  if (from.length > 0 && to.length > 0)
    return padded({ from: Math.min(...from), to: Math.max(...to) }, 0.1, 5 * NS_PER_S);
  const begin = isoToNs(window.from);
  if (begin === undefined) return undefined;
  return padded({ from: begin, to: isoToNs(window.to) ?? begin + HALF_HOUR_NS }, 0.1);
}

function Known({ incident, link, pollMs }: Props) {
  const { t } = useTranslation();
  const view = useIncidentView(incident);
  const [asked, setAsked] = useState(0);
  const marks = useMarks(incident, view, pollMs);
  const { step, host, pane } = view;
  useEffect(
    () => rememberIncident({ incident: incident.id, step: step?.key ?? "" }),
    [incident.id, step?.key],
  );
  const seen = incident.runs.some((one) => one.host_id === host?.id && one.to !== null);
  useIncidentKeys(incident, view, () => setAsked((n) => n + 1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is measured meanwhile must not move what one looks at
  const initial = useMemo(() => measured(incident, host?.id), [incident.id, host?.id, seen]);
  return (
    <Page
      title={<Title incident={incident} />}
      tab={`#${incident.number} ${incident.title}`}
      meta={<Facts incident={incident} link={link} />}
      actions={<Actions incident={incident} view={view} />}
    >
      <div className={classes.panes}>
        <section className={classes.chainPane} aria-label={t("incidents.chain.title")}>
          <h2 className="visually-hidden">{t("incidents.chain.title")}</h2>
          {incident.origin && <Origin incident={incident} origin={incident.origin} />}
          <Chain incident={incident} view={view} />
        </section>
        <div className={classes.right}>
          <NextStep incident={incident} view={view} asked={asked} />
          <section className={classes.evidencePane} aria-label={t(`incidents.pane.${pane}`)}>
            <Panes incident={incident} view={view} />
            {pane === "evidence" && <Evidence incident={incident} view={view} />}
            {pane === "fixes" && <Fixes incident={incident} view={view} />}
            {pane === "pins" && <Pins incident={incident} view={view} />}
            {pane === "comments" && <Comments incident={incident} view={view} />}
            {pane === "journal" && <Journal incident={incident} pollMs={pollMs} />}
          </section>
          <section className={classes.timePane} aria-label={t("timeline.title")}>
            <div className={classes.paneHead}>
              <h2 className={classes.paneTitle}>{t("timeline.title")}</h2>
              <HostPicker incident={incident} view={view} />
            </div>
            {host && <Where key={`where ${host.id}`} hostId={host.id} />}
            {host ? (
              <Timeline
                key={host.id}
                hostId={host.id}
                marks={{ name: t("incidents.marks"), items: marks }}
                {...(initial ? { initial } : {})}
              />
            ) : (
              <Empty title={t("incidents.hosts.none")}>{t("incidents.hosts.noneText")}</Empty>
            )}
          </section>
        </div>
      </div>
      <Acts incident={incident} view={view} />
    </Page>
  );
}

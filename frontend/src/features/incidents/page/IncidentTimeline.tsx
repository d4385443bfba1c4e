import { useMemo } from "react";
import type { Incident } from "../../../client/models";
import { isoToNs } from "../../../core/time/clock";
import { NS_PER_S, padRange, type Range } from "../../../core/time/range";
import { useTranslation } from "../../../lib/text/useTranslation";
import { Timeline } from "../../../widgets/timeline/Timeline";
import { useIncidentMarks } from "./useIncidentMarks";
import type { IncidentView } from "./useIncidentView";

const HALF_HOUR_NS = 1800e9;

/** Return the padded time range of a host's runs, else of the incident; undefined without a start time. */
function findMeasuredRange({ runs, window }: Incident, host: string | undefined): Range | undefined {
  const own = runs.filter((run) => run.host_id === host);
  const from = own.flatMap((run) => isoToNs(run.from) ?? []);
  const to = own.flatMap((run) => isoToNs(run.to) ?? []);
  if (from.length > 0 && to.length > 0)
    return padRange({ from: Math.min(...from), to: Math.max(...to) }, 0.1, 5 * NS_PER_S);
  const begin = isoToNs(window.from);
  if (begin === undefined) return undefined;
  return padRange({ from: begin, to: isoToNs(window.to) ?? begin + HALF_HOUR_NS }, 0.1);
}

interface Props {
  incident: Incident;
  view: IncidentView;
  hostId: string;
  pollMs: number | false;
}

/** Timeline of the selected host, with the marks of the incident. */
export function IncidentTimeline({ incident, view, hostId, pollMs }: Props) {
  const { t } = useTranslation();
  const marks = useIncidentMarks(incident, view, pollMs);
  const isMeasured = incident.runs.some((run) => run.host_id === hostId && run.to !== null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new measurements must not move the visible range
  const initial = useMemo(() => findMeasuredRange(incident, hostId), [incident.id, hostId, isMeasured]);
  return (
    <Timeline
      key={hostId}
      hostId={hostId}
      marks={{ name: t("incidents.marks"), items: marks }}
      {...(initial ? { initial } : {})}
    />
  );
}

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Incident, Named } from "../../client/models";
import { usePaused } from "../usePaused";
import { incidentKeys, useIncident } from "./incidents";

const POLL_MS = 3000;

/**
 * An incident as it changes under several hands. News comes as server-sent events; while those are paused, it is asked
 * for every three seconds.
 */
export function useIncidentStream(id: string) {
  const cache = useQueryClient();
  const [paused, pause] = usePaused();
  const query = useIncident(id, paused ? POLL_MS : false);
  const known = query.data !== undefined;
  useEffect(() => {
    if (!known || paused) return;
    const source = new EventSource(`/api/v1/incidents/${id}/updates`);
    const refresh = () => void cache.invalidateQueries({ queryKey: incidentKeys.detail(id) });
    source.addEventListener("version", (event) => {
      const news = parse<{ version: number }>(event);
      const here = cache.getQueryData<Incident>(incidentKeys.detail(id));
      if (news && here && news.version > here.version) refresh();
    });
    source.addEventListener("runs", (event) => {
      const runs = parse<{ runs: { run_id: string; state: string }[] }>(event)?.runs;
      const known = cache.getQueryData<Incident>(incidentKeys.detail(id))?.runs ?? [];
      if (runs?.some((run) => known.find((each) => each.run_id === run.run_id)?.state !== run.state))
        refresh();
    });
    source.addEventListener("presence", (event) => {
      const here = parse<{ people: Named[] }>(event)?.people;
      if (here)
        cache.setQueryData<Incident>(
          incidentKeys.detail(id),
          (before) => before && withParticipants(before, here),
        );
    });
    source.addEventListener("error", () => {
      // The browser reconnects on an interruption; a refusal ends the stream permanently.
      if (source.readyState === EventSource.CLOSED) pause();
    });
    return () => source.close();
  }, [id, known, paused, pause, cache]);
  return {
    query,
    link: paused ? ("paused" as const) : ("live" as const),
    pollMs: paused ? POLL_MS : (false as const),
  };
}

/** Who has it open now, among those who take part. */
export function withParticipants(incident: Incident, here: readonly Named[]): Incident {
  const known = incident.people.filter((person) => !here.some((each) => each.id === person.id));
  return {
    ...incident,
    people: [
      ...here.map((item) => ({ ...item, is_present: true })),
      ...known.map((person) => ({ ...person, is_present: false })),
    ],
  };
}

function parse<T>(event: Event): T | undefined {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}

import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { HostRef, Incident } from "../../client/models";
import { parseVisibleJson } from "../../core/text/visibleJson";
import { useStreamPause } from "../useStreamPause";
import { incidentKeys, useIncident } from "./incidents";

const POLL_MS = 3000;

/**
 * Load an incident and keep it current while several users change it. Updates arrive as server-sent events; while the
 * stream is paused, the incident is polled every 3 s. `pollMs` is the interval for related queries, or false.
 */
export function useIncidentStream(id: string) {
  const cache = useQueryClient();
  const [paused, pause] = useStreamPause();
  const query = useIncident(id, paused ? POLL_MS : false);
  const loaded = query.data !== undefined;
  useEffect(() => {
    if (!loaded || paused) return;
    const source = new EventSource(`/api/v1/incidents/${id}/updates`);
    const refresh = () => void cache.invalidateQueries({ queryKey: incidentKeys.detail(id) });
    source.addEventListener("version", (event) => {
      const update = parse<{ version: number }>(event);
      const cached = cache.getQueryData<Incident>(incidentKeys.detail(id));
      if (update && cached && update.version > cached.version) refresh();
    });
    source.addEventListener("runs", (event) => {
      const runs = parse<{ runs: { run_id: string; state: string }[] }>(event)?.runs;
      const cached = cache.getQueryData<Incident>(incidentKeys.detail(id))?.runs ?? [];
      if (runs?.some((run) => cached.find((each) => each.run_id === run.run_id)?.state !== run.state))
        refresh();
    });
    source.addEventListener("presence", (event) => {
      const present = parse<{ people: HostRef[] }>(event)?.people;
      if (present)
        cache.setQueryData<Incident>(
          incidentKeys.detail(id),
          (before) => before && setParticipants(before, present),
        );
    });
    source.addEventListener("error", () => {
      // The browser reconnects after an interruption. An HTTP error closes the stream permanently.
      if (source.readyState === EventSource.CLOSED) pause();
    });
    return () => source.close();
  }, [id, loaded, paused, pause, cache]);
  return {
    query,
    link: paused ? ("paused" as const) : ("live" as const),
    pollMs: paused ? POLL_MS : (false as const),
  };
}

/** Return the incident with `here` as its present participants, first in the list; all others are absent. */
export function setParticipants(incident: Incident, here: readonly HostRef[]): Incident {
  const absent = incident.people.filter((person) => !here.some((each) => each.id === person.id));
  return {
    ...incident,
    people: [
      ...here.map((item) => ({ ...item, is_present: true })),
      ...absent.map((person) => ({ ...person, is_present: false })),
    ],
  };
}

function parse<T>(event: Event): T | undefined {
  try {
    return parseVisibleJson((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}

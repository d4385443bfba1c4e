import type { HostileRequests, Json } from "./hostile-requests";

/** Hypotheses, fixes and short comments of the incident: comments are limited by the minute. */
const MOST_OF_EACH = 12;

interface Sources {
  incident: string;
  host: string;
  runs: readonly string[];
  /** Return the next payload. */
  next: () => string;
  /** All payloads, as texts of so many lines. */
  blocks: (lines: number) => string[];
  objects: number;
}

/** Fill an incident and a report of it with payloads; return the ID of the report. */
export async function storeIncident(
  api: HostileRequests,
  { incident, host, runs, next, blocks, objects }: Sources,
): Promise<string> {
  const path = `/incidents/${incident}`;
  const change = async (method: string, below: string, body: Json) =>
    await api.send(method, `${path}${below}`, { version: (await api.get(path)).version, ...body });

  for (const text of blocks(40)) {
    await api.post(`${path}/comments`, { text });
    await change("POST", "/notes", { note: text });
  }
  await change("POST", "/runs", { run_ids: [runs[2]] });
  for (let at = 0; at < Math.min(objects, MOST_OF_EACH); at += 1) {
    await api.post(`${path}/comments`, {
      text: `${next()} @admin https://probe.invalid/${encodeURI(next())}`,
    });
    await change("POST", "/hypotheses", { summary: next() });
    const text = { what: next(), command: next(), risk: next(), rollback: next(), host_ids: [host] };
    await change("POST", "/fixes", text);
  }
  await storeEvidence(api, change, String(runs[2]));
  await change("POST", "/playbooks", { playbooks: ["thread-oversubscription"] });
  await change("PATCH", "/playbooks/thread-oversubscription", { dismissed: true, reason: next() });

  const report = String((await api.create(`${path}/reports`, { title: next() })).id);
  const [summary = "", impact = ""] = blocks(120);
  const follow_ups = Array.from({ length: 5 }, () => ({ what: next(), who: next().slice(0, 100) }));
  const { version } = await api.get(`/reports/${report}`);
  // No kind of name is replaced, so that the versions hold the payloads.
  const body = {
    version,
    follow_ups,
    title: next(),
    summary: summary.slice(0, 8000),
    impact: impact.slice(0, 8000),
    kinds: [],
    comments: true,
  };
  await api.send("PATCH", `/reports/${report}`, body);
  return report;
}

/** Pin lines with payloads. */
async function storeEvidence(
  api: HostileRequests,
  change: (method: string, below: string, body: Json) => Promise<Json | undefined>,
  run: string,
): Promise<void> {
  const { artifacts = [] } = (await api.get(`/runs/${run}`)) as {
    artifacts?: { id: string; collector: string }[];
  };
  for (const name of ["db_sessions", "kmsg", "proc_top"]) {
    const artifact = artifacts.find(({ collector }) => collector === name);
    if (!artifact) continue;
    const pin = {
      kind: "line",
      view: `/runs/${run}`,
      ref: { artifact_id: artifact.id, lines: [1, 2, 3, 4, 5, 6] },
    };
    await change("POST", "/pins", pin);
  }
}

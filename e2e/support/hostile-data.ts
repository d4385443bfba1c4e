import { createHash } from "node:crypto";
import type { Page } from "@playwright/test";
import { expect } from "@playwright/test";
import { buildHostileBundle, changeFolded, changePerfScript } from "./hostile-bundle";
import { storeIncident } from "./hostile-incident";
import { HostileRequests, type Json } from "./hostile-requests";
import { cyclePayloads, FOREIGN_HOST, PAYLOADS } from "./payloads";
import { reauthenticate } from "./platform";

/** Addresses of the pages that display the hostile data. */
export interface HostilePlaces {
  pages: [string, string][];
  incident: string;
  report: string;
  profiles: string[];
  comparison: string;
}

/** Return an address of a private network, which no test uses. */
const randomAddress = (): string => `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join(".")}/32`;

/** Wait until the profiles of `runs` are built and return their IDs. */
async function waitForProfiles(api: HostileRequests, runs: readonly string[]): Promise<string[]> {
  const profiles: string[] = [];
  for (const run of runs) {
    const read = async () =>
      (await api.get(`/profiles?run=${run}`)).items as { id: string; kind: string; state: string }[];
    await expect
      .poll(async () => (await read()).map(({ state }) => state).join(), { timeout: 60_000 })
      .toMatch(/^ready(,(ready|failed))*$/);
    profiles.push((await read()).find(({ kind }) => kind === "on_cpu")?.id ?? "");
  }
  return profiles;
}

/** Return a template with two samples of each of `stacks` stacks as `perf script` prints them. */
function buildPerfScript(stacks: number): string {
  const blocks = Array.from({ length: 2 * stacks }, (_, at) => {
    const time = `${100 + Math.floor(at / 100)}.${String((at % 100) * 10_000_000).padStart(9, "0")}`;
    return `web 40/${41 + (at % 60)} [00${at % 2}] ${time}: 1 cpu-clock:\n\t5000 a (b)\n\t5100 c (d)\n\t5200 e (f)\n\n`;
  });
  return blocks.join("");
}

/**
 * Store payloads in all fields that people, hosts, uploads and other systems fill, through the API. `objects` is the
 * number of objects of each kind; long texts and files hold all payloads.
 */
export async function storeHostileData(page: Page, objects: number): Promise<HostilePlaces> {
  const me = (await (await page.request.get("/api/v1/me")).json()) as { csrf: string; user?: Json };
  const api = new HostileRequests(page, me.csrf);
  await reauthenticate(page);
  const next = cyclePayloads(3, (text) => text.replaceAll(/[\n\r]/g, " "));
  const everything = PAYLOADS.map(({ text }) => text);
  const blocks = (size: number) =>
    Array.from({ length: Math.ceil(everything.length / size) }, (_, at) =>
      everything.slice(at * size, (at + 1) * size).join("\n"),
    );
  const times = async (count: number, act: () => Promise<unknown>) => {
    for (let at = 0; at < count; at += 1) await act();
  };
  const label = () => next().slice(0, 120);

  const folded = everything.map((_, at) => `a;b${at};c 1`).join("\n");
  const runs = [
    await api.importFile(next(), Buffer.from(changeFolded(folded, next)), { kind: "folded" }),
    await api.importFile(next(), Buffer.from(changePerfScript(buildPerfScript(200), next)), {
      kind: "perf_script",
    }),
    await api.importFile(next(), buildHostileBundle(objects), { kind: "bundle" }),
  ];
  const hostRun = await api.get(`/runs/${runs[2]}`);
  const host = String((hostRun.host as Json).id);
  await api.send("PATCH", `/hosts/${host}`, {
    labels: { role: label(), service: label(), cluster: label() },
  });
  await times(objects, () => api.post("/uploads", { host_name: next().slice(0, 100), note: next() }));

  const moment = { starts_at: "2031-01-01T00:00:00Z", ends_at: "2031-01-02T00:00:00Z" };
  await times(objects, () =>
    api.post("/maintenance-windows", { ...moment, labels: { role: label() }, reason: next() }),
  );
  await times(3, () =>
    api.post("/kill-switches", { kind: "label", label: { role: label() }, reason: next() }),
  );
  await times(objects, () =>
    api.post("/reported-events", {
      hosts: [host],
      what: next(),
      who: next(),
      detail: `${next()}\n${next()}`,
      link: `https://${FOREIGN_HOST}/${encodeURI(next())}`.slice(0, 1900),
    }),
  );
  await times(objects, () => api.post("/network-rules", { cidr: randomAddress(), note: next() }));
  await times(objects, () =>
    api.send("PUT", "/thresholds", {
      name: "F-APP-EPIPE.info",
      value: 1,
      label_name: "role",
      label_value: label(),
      why: next(),
    }),
  );
  const cadence = { kind: "cron", cron: "0 3 1 1 *", zone: "UTC" };
  await times(3, () =>
    api.post("/schedules", {
      name: `hostile ${Math.random().toString(36).slice(2)}`,
      cadence,
      capture: { plan: "baseline" },
      target: { labels: { role: label() } },
      reason: next(),
    }),
  );
  await times(3, () =>
    api.post("/services", {
      name: `svc ${Math.random().toString(36).slice(2)}`,
      selector: { role: label() },
    }),
  );
  await times(3, () => api.post("/unattended-tiers", { label: { role: label() } }));
  const expires = { rule: "F-APP-EPIPE", expires_at: new Date(Date.now() + 86_400_000).toISOString() };
  await times(3, () => api.post("/mutes", { host_id: host, ...expires, reason: next() }));
  await storeAlerts(api, next, objects);
  await storeCalendar(api, next);

  const incidents: string[] = [];
  await times(objects, async () => {
    const symptom = { service: next(), description: blocks(20)[0] };
    const body = { title: next(), symptom, hosts: [{ host_id: host, scope: { kind: "host", value: "" } }] };
    incidents.push(String((await api.post("/incidents", body))?.id ?? ""));
  });
  const incident = incidents[0] ?? "";
  const report = await storeIncident(api, { incident, host, runs, next, blocks, objects });
  const profiles = await waitForProfiles(api, runs);
  const sides = { a: { profile_id: profiles[0] }, b: { profile_id: profiles[1] } };
  const comparison = String((await api.create("/comparisons", sides)).id);
  expect(api.stored).toBeGreaterThan(6 * objects);

  const artifacts = ((await api.get(`/runs/${runs[2]}`)).artifacts ?? []) as Json[];
  const texts = ["db_sessions", "kmsg", "jstack"].flatMap((name) => {
    const row = artifacts.find((item) => item.collector === name);
    return row ? [[`lines of ${name}`, `/artifacts/${row.id}?run=${runs[2]}`] as [string, string]] : [];
  });
  return {
    incident,
    report,
    profiles,
    comparison,
    pages: [
      ["incidents", "/incidents"],
      ["incident", `/incidents/${incident}`],
      ["report", `/reports/${report}`],
      ["hosts", "/hosts"],
      ["host", `/hosts/${host}`],
      ["host context", `/hosts/${host}?fold=context`],
      ["host changes", `/hosts/${host}?fold=changed`],
      ["captures", "/captures"],
      ["imports", "/captures?dialog=import"],
      ["run of a bundle", `/runs/${runs[2]}`],
      ["run of stacks", `/runs/${runs[0]}`],
      ...texts,
      ["calls", `/runs/${runs[2]}/calls`],
      ["reports", `/incidents/${incident}/reports`],
      ["profiles", "/profiles"],
      ...profiles.flatMap((id, at): [string, string][] => [
        [`profile ${at}`, `/profiles/${id}`],
        [`functions of profile ${at}`, `/profiles/${id}?view=table`],
        [`tracks of profile ${at}`, `/profiles/${id}?tracks=thread`],
      ]),
      ["comparison", `/comparisons/${comparison}`],
      ["fleet", "/fleet"],
      ["fleet, peers", "/fleet?view=peers"],
      ["fleet, findings", "/fleet?view=findings"],
      ["events", "/events"],
      ["what changed", "/what-changed"],
      ["triggers", "/triggers"],
      ["alerts", "/triggers?part=alerts"],
      ["watchers", "/triggers?part=watchers"],
      ["notifications", "/notifications?part=notifications"],
      ["on call", "/oncall"],
      ["schedules", "/schedules"],
      ["services", "/services"],
      ["rules", "/rules"],
      ["networks", "/settings/networks"],
      ["audit", "/settings/audit"],
      ["credentials", "/settings/credentials"],
      ["home", "/"],
    ],
  };
}

/** Send alerts as a script with a token does. */
async function storeAlerts(api: HostileRequests, next: () => string, count: number): Promise<void> {
  const name = `hostile ${Math.random().toString(36).slice(2)}`;
  const trigger = await api.create("/triggers", {
    name,
    kind: "generic",
    options: { label_filter: { role: [next().slice(0, 100)] } },
  });
  const alerts = Array.from({ length: Math.min(200, 4 * count) }, () => ({
    id: next(),
    title: next(),
    host: next(),
    service: next(),
    summary: `${next()}\n${next()}`,
    labels: { role: next(), [next()]: next() },
    group: next(),
  }));
  const headers = { authorization: `Bearer ${trigger.secret}` };
  await api.send("POST", `/triggers/${trigger.id}/alerts`, { alerts }, headers);
  await api.create(`/triggers/${trigger.id}/test`, { title: next().slice(0, 200), labels: { host: next() } });
}

/** Upload a calendar of shifts. */
async function storeCalendar(api: HostileRequests, next: () => string): Promise<void> {
  const name = `hostile ${Math.random().toString(36).slice(2)}`;
  const rotation = await api.create("/rotations", { name, source: { kind: "calendar" } });
  const shifts = Array.from({ length: 14 }, (_, day) => {
    const at = new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");
    const words = (text: string) => text.replaceAll(/([\\;,])/g, "\\$1");
    const end = `DTEND:${at}T235900Z\r\nSUMMARY:${words(next())}\r\nDESCRIPTION:${words(next())}\r\nATTENDEE;CN="${next().replaceAll('"', "'")}":mailto:x@example.org\r\nEND:VEVENT`;
    return `BEGIN:VEVENT\r\nUID:${createHash("sha256").update(at).digest("hex")}\r\nDTSTAMP:${at}T000000Z\r\nDTSTART:${at}T000000Z\r\n${end}`;
  });
  const text = `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//x//EN\r\n${shifts.join("\r\n")}\r\nEND:VCALENDAR\r\n`;
  await api.putFile(`/rotations/${rotation.id}/calendar`, "shifts.ics", text);
}

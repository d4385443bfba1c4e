/** Reports that are written, frozen, approved and shared while they are looked at. */
import type * as R from "../src/client/reports.ts";
import { actor } from "./incidents.ts";
import { id } from "./noise.ts";
import { type MockAnswer, type MockRequest, ok, problem, route } from "./routes.ts";
import { me, USERS } from "./state.ts";

const CUSTOMER: readonly R.RedactionKind[] = [
  "secret",
  "email",
  "word",
  "path",
  "argument",
  "sql",
  "host",
  "user",
  "address",
];

let reports: R.Report[] = [];
let visits: R.ReportVisit[] = [];

export function resetReports(): void {
  reports = [];
  visits = [];
}

const may = (): R.Report["may"] => {
  const all = me().may;
  return {
    edit: all.includes("report.edit"),
    approve: all.includes("report.approve"),
    share: all.includes("report.share"),
    names: all.includes("report.names"),
    alone: false,
  };
};
const shown = (one: R.Report): MockAnswer => ok({ ...one, may: may() });
const missing = () => problem(404, "report.not_found", "There is no such report.");

const find = (report: string) => reports.find((one) => one.id === report);
const holder = (version: string) => reports.find((one) => one.versions.some((each) => each.id === version));

/** Somebody else froze a version, so that the signed-in person may approve it. */
export function frozenByOther(report: string): void {
  const one = find(report);
  if (one) freeze(one, { id: String(USERS[1]?.id), name: String(USERS[1]?.name) });
}

function freeze(one: R.Report, by = actor()): R.ReportVersion {
  one.frozen += 1;
  const made: R.ReportVersion = {
    id: id("report-version", one.frozen),
    report_id: one.id,
    number: one.frozen,
    sha256: "5f".repeat(32),
    size: 48_211,
    intact: true,
    counts: { host: 12, address: 7 },
    created_by: by,
    created_at: new Date().toISOString(),
    approved_by: null,
    approved_at: null,
  };
  one.versions.unshift(made);
  return made;
}

route("GET", "/incidents/:id/reports", (_, incident) =>
  ok(reports.filter((one) => one.incident_id === incident)),
);
/** A new draft, as somebody begins it. */
export function begin(incident: string, body: Record<string, unknown> = {}): R.Report {
  const at = new Date().toISOString();
  const made: R.Report = {
    id: id("report", reports.length),
    incident_id: incident,
    number: 42,
    title: String(body.title ?? "A report"),
    language: body.language === "zh" ? "zh" : "en",
    zone: String(body.zone ?? "UTC"),
    preset: body.preset === "internal" ? "internal" : "customer",
    kinds: body.preset === "internal" ? ["secret", "word"] : [...CUSTOMER],
    words: [],
    summary: "",
    impact: "",
    detected_at: at,
    mitigated_at: null,
    follow_ups: [],
    comments: false,
    version: 1,
    frozen: 0,
    created_by: actor(),
    created_at: at,
    updated_at: at,
    versions: [],
    shares: [],
    may: may(),
  };
  reports.unshift(made);
  return made;
}
route("POST", "/incidents/:id/reports", ({ body }, incident = "") => ok(begin(incident, body), 201));
route("GET", "/reports/:id", (_, report = "") => {
  const one = find(report);
  return one ? shown(one) : missing();
});
route("PATCH", "/reports/:id", ({ body }, report = "") => {
  const one = find(report);
  if (!one) return missing();
  const { version, ...given } = body;
  if (version !== one.version) return problem(409, "report.changed", "changed", { version: one.version });
  Object.assign(one, given, { version: one.version + 1, updated_at: new Date().toISOString() });
  return shown(one);
});
route("GET", "/reports/:id/preview", () =>
  ok({
    counts: { host: 2, address: 1 },
    replaced: [
      { kind: "host", original: "feed-7", pseudonym: "host-1" },
      { kind: "address", original: "10.40.0.7", pseudonym: "address-1" },
    ],
    changed: [{ before: "feed-7 at 10.40.0.7 is slow", after: "host-1 at address-1 is slow" }],
  } satisfies R.ReportPreview),
);
route("POST", "/reports/:id/versions", (_, report = "") => {
  const one = find(report);
  return one ? ok(freeze(one), 201) : missing();
});
route("POST", "/report-versions/:id/approve", (_, version = "") => {
  const one = holder(version)?.versions.find((each) => each.id === version);
  if (!one) return missing();
  if (one.created_by?.id === me().id) return problem(403, "report.approve_other", "A second person.");
  Object.assign(one, { approved_by: actor(), approved_at: new Date().toISOString() });
  return ok(one);
});
route("POST", "/report-versions/:id/shares", ({ body }: MockRequest, version = "") => {
  const of = holder(version);
  const one = of?.versions.find((each) => each.id === version);
  if (!of || !one) return missing();
  if (!one.approved_at) return problem(409, "report.not_approved", "Nobody has approved it.");
  const made: R.ReportShare = {
    id: id("report-share", of.shares.length),
    version_id: one.id,
    number: one.number,
    note: String(body.note ?? ""),
    open: true,
    expires_at: new Date(Date.now() + Number(body.days) * 86_400_000).toISOString(),
    revoked_at: null,
    created_by: actor(),
    created_at: new Date().toISOString(),
    visits: 1,
    url: null,
  };
  of.shares.unshift(made);
  visits = [{ at: made.created_at, address: "192.0.2.7", agent: "Mozilla/5.0", form: "page" }];
  return ok({ ...made, url: `https://culprit.example/r/${"k".repeat(43)}` }, 201);
});
route("GET", "/report-shares/:id/visits", () => ok(visits));
route("DELETE", "/report-shares/:id", (_, share = "") => {
  for (const one of reports)
    for (const each of one.shares)
      if (each.id === share) Object.assign(each, { open: false, revoked_at: new Date().toISOString() });
  return { status: 204 };
});

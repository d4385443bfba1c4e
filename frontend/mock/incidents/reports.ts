/** Reports that screens edit, freeze, approve and share. */
import type * as T from "../../src/client/models.ts";
import type { RedactionKind } from "../../src/features/reports/api.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, type MockAnswer, type MockRequest, respond, respondProblem } from "../server/routes.ts";
import { currentUser, USERS } from "../server/state.ts";
import { currentActor } from "./incidents.ts";

const CUSTOMER: readonly RedactionKind[] = [
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

let reports: T.Report[] = [];
let visits: T.ReportVisit[] = [];

export function resetReports(): void {
  reports = [];
  visits = [];
}

const reportPermissions = (): T.Report["permissions"] => {
  const all = currentUser().permissions;
  return {
    edit: all.includes("report.edit"),
    approve: all.includes("report.approve"),
    share: all.includes("report.share"),
    names: all.includes("report.names"),
    alone: false,
  };
};
const answerReport = (report: T.Report): MockAnswer =>
  respond({ ...report, permissions: reportPermissions() });
const respondNotFound = () => respondProblem(404, "report.not_found", "Report not found.");

const find = (report: string) => reports.find((item) => item.id === report);
const holder = (version: string) =>
  reports.find((report) => report.versions.some((each) => each.id === version));

/** Freeze a version as another user, so that the signed-in person may approve it. */
export function freezeAsOtherUser(report: string): void {
  const item = find(report);
  if (item) freeze(item, { id: String(USERS[1]?.id), name: String(USERS[1]?.name) });
}

function freeze(report: T.Report, by = currentActor()): T.ReportVersion {
  report.frozen += 1;
  const created: T.ReportVersion = {
    id: makeId("report-version", report.frozen),
    report_id: report.id,
    number: report.frozen,
    sha256: "5f".repeat(32),
    size: 48_211,
    intact: true,
    counts: { host: 12, address: 7 },
    created_by: by,
    created_at: new Date().toISOString(),
    approved_by: null,
    approved_at: null,
  };
  report.versions.unshift(created);
  return created;
}

addRoute("GET", "/incidents/:id/reports", (_, incident) =>
  respond(reports.filter((report) => report.incident_id === incident)),
);
/** Create a new draft. */
export function createReport(incident: string, body: Record<string, unknown> = {}): T.Report {
  const at = new Date().toISOString();
  const newReport: T.Report = {
    id: makeId("report", reports.length),
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
    created_by: currentActor(),
    created_at: at,
    updated_at: at,
    versions: [],
    shares: [],
    permissions: reportPermissions(),
  };
  reports.unshift(newReport);
  return newReport;
}
addRoute("POST", "/incidents/:id/reports", ({ body }, incident = "") =>
  respond(createReport(incident, body), 201),
);
addRoute("GET", "/reports/:id", (_, report = "") => {
  const item = find(report);
  return item ? answerReport(item) : respondNotFound();
});
addRoute("PATCH", "/reports/:id", ({ body }, report = "") => {
  const item = find(report);
  if (!item) return respondNotFound();
  const { version, ...changes } = body;
  if (version !== item.version)
    return respondProblem(409, "report.changed", "changed", { version: item.version });
  Object.assign(item, changes, { version: item.version + 1, updated_at: new Date().toISOString() });
  return answerReport(item);
});
addRoute("GET", "/reports/:id/preview", () =>
  respond({
    content: {},
    counts: { host: 2, address: 1 },
    replaced: [
      { kind: "host", original: "feed-7", pseudonym: "host-1" },
      { kind: "address", original: "10.40.0.7", pseudonym: "address-1" },
    ],
    changed: [{ before: "feed-7 at 10.40.0.7 is slow", after: "host-1 at address-1 is slow" }],
  } satisfies T.ReportPreview),
);
addRoute("POST", "/reports/:id/versions", (_, report = "") => {
  const item = find(report);
  return item ? respond(freeze(item), 201) : respondNotFound();
});
addRoute("POST", "/report-versions/:id/approve", (_, version = "") => {
  const reportVersion = holder(version)?.versions.find((each) => each.id === version);
  if (!reportVersion) return respondNotFound();
  if (reportVersion.created_by?.id === currentUser().id)
    return respondProblem(403, "report.approve_other", "A second person.");
  Object.assign(reportVersion, { approved_by: currentActor(), approved_at: new Date().toISOString() });
  return respond(reportVersion);
});
addRoute("POST", "/report-versions/:id/shares", ({ body }: MockRequest, version = "") => {
  const of = holder(version);
  const reportVersion = of?.versions.find((each) => each.id === version);
  if (!of || !reportVersion) return respondNotFound();
  if (!reportVersion.approved_at)
    return respondProblem(409, "report.not_approved", "The version is not approved.");
  const newShare: T.ReportShare = {
    id: makeId("report-share", of.shares.length),
    version_id: reportVersion.id,
    number: reportVersion.number,
    note: String(body.note ?? ""),
    open: true,
    expires_at: new Date(Date.now() + Number(body.days) * 86_400_000).toISOString(),
    revoked_at: null,
    created_by: currentActor(),
    created_at: new Date().toISOString(),
    visits: 1,
    url: null,
  };
  of.shares.unshift(newShare);
  visits = [{ at: newShare.created_at, address: "192.0.2.7", agent: "Mozilla/5.0", form: "page" }];
  return respond({ ...newShare, url: `https://culprit.example/r/${"k".repeat(43)}` }, 201);
});
addRoute("GET", "/report-shares/:id/visits", () => respond(visits));
addRoute("DELETE", "/report-shares/:id", (_, share = "") => {
  for (const report of reports)
    for (const each of report.shares)
      if (each.id === share) Object.assign(each, { open: false, revoked_at: new Date().toISOString() });
  return { status: 204 };
});

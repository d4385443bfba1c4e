import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouterHistory,
  redirect,
} from "@tanstack/react-router";
import { formatSearch, parseSearch, type Search } from "../core/search";
import { Crash, Missing } from "./Fallbacks";
import { Shell } from "./Shell";

const keep = (search: Record<string, unknown>): Search => search as Search;

const root = createRootRoute({ component: Outlet, notFoundComponent: Missing, errorComponent: Crash });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: keep,
  component: lazyRouteComponent(() => import("../features/session/LoginPage"), "LoginPage"),
});

/** The first-login link may carry its token in the path; it moves to the fragment, which no log sees. */
const loginLink = createRoute({
  getParentRoute: () => root,
  path: "/link/$token",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/login", hash: `link=${params.token}`, replace: true });
  },
});

const proved = createRoute({
  getParentRoute: () => root,
  path: "/proved",
  component: lazyRouteComponent(() => import("../features/session/ProvedPage"), "ProvedPage"),
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  validateSearch: keep,
});

const screen = <const Path extends string>(
  path: Path,
  load: () => Promise<Record<string, unknown>>,
  name: string,
) =>
  createRoute({
    getParentRoute: () => shell,
    path,
    validateSearch: keep,
    component: lazyRouteComponent(load as never, name),
  });

const home = screen("/", () => import("../features/start/StartPage"), "StartPage");
const hosts = screen("/hosts", () => import("../features/hosts/HostsPage"), "HostsPage");
const addHost = screen("/hosts/new", () => import("../features/hosts/AddHostPage"), "AddHostPage");
const host = screen("/hosts/$hostId", () => import("../features/hosts/HostPage"), "HostPage");
const captures = screen("/captures", () => import("../features/captures/CapturesPage"), "CapturesPage");
const capture = screen(
  "/captures/$captureId",
  () => import("../features/captures/CapturePage"),
  "CapturePage",
);
const run = screen("/runs/$runId", () => import("../features/runs/RunPage"), "RunPage");
const calls = screen("/runs/$runId/calls", () => import("../features/calls/CallsPage"), "CallsPage");
const artifact = screen(
  "/artifacts/$artifactId",
  () => import("../features/runs/ArtifactPage"),
  "ArtifactPage",
);
const diagnoses = screen("/diagnoses", () => import("../features/diagnoses/DiagnosesPage"), "DiagnosesPage");
const diagnosis = screen(
  "/diagnoses/$diagnosisId",
  () => import("../features/diagnoses/DiagnosisPage"),
  "DiagnosisPage",
);
const incidents = screen("/incidents", () => import("../features/incidents/IncidentsPage"), "IncidentsPage");
const incident = screen(
  "/incidents/$incidentId",
  () => import("../features/incidents/IncidentPage"),
  "IncidentPage",
);
const reports = screen(
  "/incidents/$incidentId/reports",
  () => import("../features/reports/ReportsPage"),
  "ReportsPage",
);
const report = screen("/reports/$reportId", () => import("../features/reports/ReportPage"), "ReportPage");
const fleet = screen("/fleet", () => import("../features/fleet/FleetPage"), "FleetPage");
const rules = screen("/rules", () => import("../features/rules/RulesPage"), "RulesPage");
const playbooks = screen("/playbooks", () => import("../features/playbooks/PlaybooksPage"), "PlaybooksPage");
const profiles = screen("/profiles", () => import("../features/profile/ProfilesPage"), "ProfilesPage");
const profile = screen(
  "/profiles/$profileId",
  () => import("../features/profile/ProfilePage"),
  "ProfilePage",
);
const compare = screen("/compare", () => import("../features/profile/ComparePage"), "ComparePage");
const diff = screen("/diffs/$diffId", () => import("../features/profile/DiffPage"), "DiffPage");
const services = screen("/services", () => import("../features/services/ServicesPage"), "ServicesPage");
const schedules = screen("/schedules", () => import("../features/schedules/SchedulesPage"), "SchedulesPage");
const events = screen("/events", () => import("../features/events/EventsPage"), "EventsPage");
const oncall = screen("/oncall", () => import("../features/oncall/OnCallPage"), "OnCallPage");
const triggers = screen("/triggers", () => import("../features/triggers/TriggersPage"), "TriggersPage");
const settings = screen("/settings", () => import("../features/settings/SettingsPage"), "SettingsPage");
const settingsPart = screen(
  "/settings/$part",
  () => import("../features/settings/SettingsPage"),
  "SettingsPage",
);

/** An unknown address keeps the places around it. */
const nowhere = createRoute({ getParentRoute: () => shell, path: "$", component: Missing });

const routeTree = root.addChildren([
  login,
  loginLink,
  proved,
  shell.addChildren([
    home,
    hosts,
    addHost,
    host,
    captures,
    capture,
    run,
    calls,
    artifact,
    diagnoses,
    diagnosis,
    incidents,
    incident,
    reports,
    report,
    fleet,
    rules,
    playbooks,
    profiles,
    profile,
    compare,
    diff,
    services,
    schedules,
    events,
    oncall,
    triggers,
    settings,
    settingsPart,
    nowhere,
  ]),
]);

/** The router of one browser tab; tests make their own over a history in memory. */
export const createAppRouter = (history?: RouterHistory) =>
  createRouter({
    routeTree,
    ...(history ? { history } : {}),
    parseSearch,
    stringifySearch: formatSearch,
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultErrorComponent: Crash,
    defaultNotFoundComponent: Missing,
  });

export const router = createAppRouter();

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

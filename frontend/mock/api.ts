/** The API as the screens see it: every subject's routes, and the one way to ask them. */
import "./admin.ts";
import "./captures/captures.ts";
import "./incidents/comments.ts";
import "./hosts/calls.ts";
import "./hosts/context.ts";
import "./hosts/factChanges.ts";
import "./analysis/diagnoses.ts";
import "./hosts/fleet.ts";
import "./hosts/hosts.ts";
import "./incidents/incidents.ts";
import "./incidents/incidentWrites.ts";
import "./analysis/playbooks.ts";
import "./incidents/reports.ts";
import "./captures/differences.ts";
import "./captures/events.ts";
import "./captures/uploads.ts";
import "./automation/schedules.ts";
import "./captures/storage.ts";
import "./automation/watchers.ts";
import "./automation/triggers.ts";
import "./captures/charts.ts";
import { type MockAnswer, type MockRequest, problem, ROUTES } from "./server/routes.ts";
import { state } from "./server/state.ts";

export type { MockAnswer, MockRequest };
export { state };

/** Answers one request. */
export function answer(request: MockRequest): MockAnswer {
  if (!state.signedIn && !request.path.startsWith("/session")) return problem(401, "auth.needed", "Sign in.");
  for (const [method, pattern, handler] of ROUTES) {
    if (method !== request.method) continue;
    const match = pattern.exec(request.path);
    if (match) return handler(request, ...match.slice(1));
  }
  return problem(404, "request.no_such_path", `${request.method} ${request.path}`);
}

/** The mock API: the routes of all resources, and the function that answers a request. */
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
import "./captures/disassembly.ts";
import "./captures/events.ts";
import "./captures/uploads.ts";
import "./automation/schedules.ts";
import "./captures/storage.ts";
import "./captures/timeOrder.ts";
import "./automation/watchers.ts";
import "./automation/triggers.ts";
import "./captures/charts.ts";
import { MOCK_ROUTES, type MockAnswer, type MockRequest, respondProblem } from "./server/routes.ts";
import { state } from "./server/state.ts";

export type { MockAnswer, MockRequest };
export { state };

/** Return the answer to a request. */
export function answerRequest(request: MockRequest): MockAnswer {
  if (!state.signedIn && !request.path.startsWith("/session"))
    return respondProblem(401, "auth.needed", "Sign in.");
  for (const [method, pattern, handler] of MOCK_ROUTES) {
    if (method !== request.method) continue;
    const match = pattern.exec(request.path);
    if (match) return handler(request, ...match.slice(1));
  }
  return respondProblem(404, "request.no_such_path", `${request.method} ${request.path}`);
}

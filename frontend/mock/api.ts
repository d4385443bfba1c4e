/** The API as the screens see it: every subject's routes, and the one way to ask them. */
import "./admin.ts";
import "./captures.ts";
import "./comments.ts";
import "./context.ts";
import "./diagnoses.ts";
import "./fleet.ts";
import "./hosts.ts";
import "./incidents.ts";
import "./incidentWrites.ts";
import "./playbooks.ts";
import "./reports.ts";
import "./events.ts";
import "./uploads.ts";
import "./schedules.ts";
import "./storage.ts";
import "./standbys.ts";
import "./triggers.ts";
import "./visuals.ts";
import { type MockAnswer, type MockRequest, problem, ROUTES } from "./routes.ts";
import { state } from "./state.ts";

export type { MockAnswer, MockRequest };
export { state };

/** Answers one request. */
export function answer(request: MockRequest): MockAnswer {
  if (!state.signedIn && !request.path.startsWith("/session"))
    return problem(401, "auth.required", "Sign in.");
  for (const [method, pattern, handler] of ROUTES) {
    if (method !== request.method) continue;
    const match = pattern.exec(request.path);
    if (match) return handler(request, ...match.slice(1));
  }
  return problem(404, "request.no_route", `${request.method} ${request.path}`);
}

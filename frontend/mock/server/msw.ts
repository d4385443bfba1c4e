import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { answerRequest, type MockAnswer, type MockRequest } from "../api.ts";
import { state } from "./state.ts";

type AnswerOverride = (request: MockRequest) => MockAnswer | undefined;

let override: AnswerOverride | undefined;
/** Requests since the last reset, for tests that check what was sent. */
export const sentRequests: MockRequest[] = [];

/** Set a handler that runs before the routes. If it returns undefined, the routes answer. */
export function overrideAnswer(other: AnswerOverride | undefined): void {
  override = other;
}

export const mockServer = setupServer(
  http.get("*/readyz", () =>
    HttpResponse.json({ ...state.platform }, { status: state.platform.state === "not_ready" ? 503 : 200 }),
  ),
  http.all("*/api/v1/*", async ({ request }) => {
    const url = new URL(request.url);
    const text = await request.text();
    let body: Record<string, unknown> = {};
    try {
      body = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // The body is a form, or empty.
    }
    const mockRequest = {
      method: request.method,
      path: url.pathname.slice("/api/v1".length),
      query: url.searchParams,
      body,
    };
    sentRequests.push(mockRequest);
    const { status, body: out } = override?.(mockRequest) ?? answerRequest(mockRequest);
    return status === 204 ? new HttpResponse(null, { status }) : HttpResponse.json(out as never, { status });
  }),
);

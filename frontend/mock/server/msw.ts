import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { answer, type MockAnswer, type MockRequest } from "../api.ts";
import { state } from "./state.ts";

type Instead = (request: MockRequest) => MockAnswer | undefined;

let instead: Instead | undefined;
/** Every request since the last reset, for tests that ask what was sent. */
export const sent: MockRequest[] = [];

/** Set an answer to try before the normal one; undefined falls through. */
export function answerInstead(other: Instead | undefined): void {
  instead = other;
}

export const server = setupServer(
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
      // a form or nothing
    }
    const mockRequest = {
      method: request.method,
      path: url.pathname.slice("/api/v1".length),
      query: url.searchParams,
      body,
    };
    sent.push(mockRequest);
    const { status, body: out } = instead?.(mockRequest) ?? answer(mockRequest);
    return status === 204 ? new HttpResponse(null, { status }) : HttpResponse.json(out as never, { status });
  }),
);

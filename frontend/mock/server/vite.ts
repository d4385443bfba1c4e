import type { IncomingMessage, ServerResponse } from "node:http";
import type { Connect, Plugin } from "vite";
import { answerRequest, state } from "../api.ts";
import * as live from "../captures/live.ts";

/**
 * Return a plugin that serves the mock API in the development server. `POST /mock {…}` changes its state:
 * `{empty, signedIn, role, delay_ms, fail}`.
 */
export function mockApi(): Plugin {
  const settings = { delay_ms: 60, fail: "" };
  const handle: Connect.NextHandleFunction = (request, response, next) => {
    const url = new URL(request.url ?? "/", "http://mock");
    if (url.pathname === "/mock") {
      void readBody(request).then((body) => {
        Object.assign(settings, body);
        Object.assign(state, body);
        send(response, 200, { ...settings });
      });
      return;
    }
    if (url.pathname === "/readyz")
      return send(response, state.platform.state === "not_ready" ? 503 : 200, state.platform);
    if (!url.pathname.startsWith("/api/v1")) return next();
    const path = url.pathname.slice("/api/v1".length);
    const progress = /^\/captures\/([^/]+)\/progress$/.exec(path);
    if (progress) return streamCapture(response, progress[1] ?? "");
    const events = /^\/incidents\/([^/]+)\/events$/.exec(path);
    if (events) return streamIncidentVersion(response, `/incidents/${events[1]}`);
    void readBody(request).then((body) => {
      setTimeout(() => {
        if (settings.fail && new RegExp(settings.fail).test(path))
          return send(response, 503, {
            title: "Unavailable",
            status: 503,
            detail: "The database does not answer.",
            key: "",
          });
        const { status, body: out } = answerRequest({
          method: request.method ?? "GET",
          path,
          query: url.searchParams,
          body,
        });
        send(response, status, out);
      }, settings.delay_ms);
    });
  };
  return {
    name: "culprit-mock",
    configureServer: (server) => void server.middlewares.use(handle),
    configurePreviewServer: (server) => void server.middlewares.use(handle),
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader("Content-Type", status >= 400 ? "application/problem+json" : "application/json");
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Send the version of an incident as server-sent events, at each change. */
function streamIncidentVersion(response: ServerResponse, path: string): void {
  response.setHeader("Content-Type", "text/event-stream");
  response.setHeader("Cache-Control", "no-cache");
  let sent = 0;
  const timer = setInterval(() => {
    const { body } = answerRequest({ method: "GET", path, query: new URLSearchParams(), body: {} });
    const { version } = (body ?? {}) as { version?: number };
    if (version === undefined || version === sent) return;
    sent = version;
    response.write(`event: version\ndata: ${JSON.stringify({ version })}\n\n`);
  }, 500);
  response.on("close", () => clearInterval(timer));
}

/** Send a capture as server-sent events, twice a second until it has ended. */
function streamCapture(response: ServerResponse, captureId: string): void {
  response.setHeader("Content-Type", "text/event-stream");
  response.setHeader("Cache-Control", "no-cache");
  let eventId = 0;
  const emit = (event: string, data: unknown): void => {
    eventId += 1;
    response.write(`id: ${eventId}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const tick = (): void => {
    const capture = live.findCapture(captureId);
    if (!capture) return void response.end();
    for (const run of capture.runs) emit("run", run);
    emit("capture", { state: capture.state });
    if (capture.ended_at) {
      clearInterval(timer);
      response.end();
    }
  };
  const timer = setInterval(tick, 500);
  response.on("close", () => clearInterval(timer));
  tick();
}

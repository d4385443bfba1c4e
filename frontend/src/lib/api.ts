import type { ApiPath, Query, RequestBody, ResponseBody } from "../client/paths";
import type { Message } from "../core/text/messages";
import { parseVisibleJson } from "../core/text/visibleJson";
import { type ProofKind, requestProof } from "./proof";
import { takeEarlyAnswer } from "./requests/earlyAnswers";

const OVERLOADED = "urn:culprit:problem:overloaded";

/** Error response of the server: the message to display, and errors by field name. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly sentence: Message | null,
    readonly detail: string,
    readonly fields: Record<string, string> = {},
    /** The `type` of the problem (RFC 9457), for problems that the client handles. */
    readonly type: string = "about:blank",
  ) {
    super(detail || title || `HTTP ${status}`);
    this.name = "ApiError";
  }

  /** Whether the server was overloaded. Reads have been retried already. */
  get overloaded(): boolean {
    return this.status === 503 && this.type === OVERLOADED;
  }
}

/** The request got no response from the server. */
export class UnreachableError extends Error {
  constructor() {
    super("The server does not answer.");
    this.name = "Unreachable";
  }
}

let csrf = "";

/** Set the CSRF token that unsafe requests send. The server returns it in `Me`. */
export function rememberCsrf(token: string): void {
  csrf = token;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Options {
  query?: Record<string, unknown>;
  body?: unknown;
  /** Idempotency key: requests with the same key create one object. */
  once?: string;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Parse the response as a Blob instead of JSON. */
  bytes?: boolean;
}

type AnyPath = ApiPath<"get"> | ApiPath<"post"> | ApiPath<"put"> | ApiPath<"patch"> | ApiPath<"delete">;
interface Answer {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** Problem type: the action requires that the user confirmed their identity recently. */
const PROOF_NEEDED = "urn:culprit:problem:proof-needed";

const proofOf = ({ sentence }: ApiError): { kind: ProofKind; minutes: number } => ({
  kind: sentence?.params.how === "provider" ? "provider" : "password",
  minutes: Number(sentence?.params.minutes ?? 15),
});

/**
 * Send a request to `/api/v1` and return the response body. Throws `ApiError` or `UnreachableError`. If the server
 * requires a proof of identity, the user is prompted for it and the request is sent again.
 */
export async function callApi<T>(method: Method, path: AnyPath, options: Options = {}): Promise<T> {
  const answer = await sendRequest(method, path, options);
  if (answer.response.ok) return answer.data as T;
  const error = toError(answer.response.status, answer.error);
  if (error.type === PROOF_NEEDED && (await requestProof(proofOf(error))))
    return callApi<T>(method, path, options);
  throw error;
}

/** Download a file, named by its Content-Disposition header or else `file`. Throws as `call` does. */
export async function download<const P extends ApiPath<"get">>(
  path: P,
  query: Query<"get", P>,
): Promise<File> {
  const answer = await sendRequest("GET", path, { query, bytes: true });
  if (!answer.response.ok) throw toError(answer.response.status, answer.error);
  const named = /filename=([\w.-]+)/.exec(answer.response.headers.get("Content-Disposition") ?? "");
  return new File([answer.data as Blob], named?.[1] ?? "file");
}

/**
 * Fetch a resource unless its ETag is still `tag`. Returns `data` (undefined on 304 Not Modified), the current ETag,
 * and the time of the server.
 */
export async function getIfChanged<const P extends ApiPath<"get">>(
  path: P,
  query: Query<"get", P>,
  tag: string | undefined,
): Promise<{ data: ResponseBody<"get", P> | undefined; tag: string | undefined; at: Date }> {
  const answer = await sendRequest("GET", path, {
    query,
    ...(tag ? { headers: { "If-None-Match": tag } } : {}),
  });
  const { headers, status, ok } = answer.response;
  if (!ok && status !== NOT_MODIFIED) throw toError(status, answer.error);
  const date = Date.parse(headers.get("Date") ?? "");
  return {
    data: ok ? (answer.data as ResponseBody<"get", P>) : undefined,
    tag: headers.get("ETag") ?? undefined,
    at: new Date(Number.isNaN(date) ? Date.now() : date),
  };
}

const NOT_MODIFIED = 304;

/** Delays before the retries of a read on an overloaded server. Each is multiplied by a random factor of 0.5 to 1.5. */
const REPEAT_AFTER_MS = [1000, 2000, 4000];

async function sendRequest(method: Method, path: AnyPath, options: Options): Promise<Answer> {
  for (const pause of REPEAT_AFTER_MS) {
    const answer = await sendOnce(method, path, options);
    if (method !== "GET" || !isOverloaded(answer.response.status, answer.error)) return answer;
    await wait(pause * (0.5 + Math.random()), options.signal);
  }
  return sendOnce(method, path, options);
}

const isOverloaded = (status: number, body: unknown): boolean =>
  status === 503 && typeof body === "object" && body !== null && "type" in body && body.type === OVERLOADED;

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(new DOMException("The read was aborted.", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

async function sendOnce(method: Method, path: AnyPath, options: Options): Promise<Answer> {
  const { query, body, once, signal, bytes } = options;
  const early = method === "GET" && !bytes ? await takeEarlyAnswer(path, query) : undefined;
  if (early) return early;
  const isForm = body instanceof FormData;
  const headers = new Headers(options.headers);
  if (once) headers.set("Idempotency-Key", once);
  if (body !== undefined && !isForm) headers.set("Content-Type", "application/json");
  if (method !== "GET" && csrf) headers.set("X-CSRF-Token", csrf);
  const request = new Request(`${globalThis.location?.origin ?? ""}/api/v1${path}${formatQuery(query)}`, {
    method,
    headers,
    credentials: "same-origin",
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  try {
    const response = await globalThis.fetch(request);
    if (!response.ok) return { error: parseJson(await response.text()), response };
    if (bytes) return { data: await response.blob(), response };
    const text = await response.text();
    return { data: text ? parseVisibleJson(text) : undefined, response };
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new UnreachableError();
  }
}

/** Return the query string of values: a list is repeated, undefined and null are left out. */
function formatQuery(query: Readonly<Record<string, unknown>> = {}): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined && item !== null) out.append(name, String(item));
  return out.size > 0 ? `?${out}` : "";
}

/** Return the value of a JSON text, or the text if it is none, for example an error page of a proxy. */
function parseJson(text: string): unknown {
  try {
    return parseVisibleJson(text);
  } catch {
    return text;
  }
}

function toError(status: number, body: unknown): ApiError {
  if (typeof body !== "object" || body === null) return new ApiError(status, "", null, "");
  const problem = body as Record<string, unknown>;
  const key = typeof problem.key === "string" ? problem.key : null;
  const params = (problem.params ?? {}) as Message["params"];
  return new ApiError(
    status,
    toText(problem.title),
    key ? { key, params } : null,
    toText(problem.detail),
    fieldErrors(problem.errors),
    toText(problem.type) || "about:blank",
  );
}

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

/** Return error texts by field. `errors` is a map of texts, or FastAPI's list of {loc, msg}. */
function fieldErrors(errors: unknown): Record<string, string> {
  const out: Record<string, string> = {};
  if (Array.isArray(errors)) {
    for (const item of errors as { loc?: unknown[]; field?: unknown; msg?: unknown; message?: unknown }[]) {
      const name = item.field ?? item.loc?.at(-1);
      if (name !== undefined) out[String(name)] = toText(item.msg ?? item.message);
    }
  } else if (typeof errors === "object" && errors !== null) {
    for (const [name, value] of Object.entries(errors)) out[name] = String(value);
  }
  return out;
}

/** Send a GET request and return the response body. Throws as `call` does. */
export const get = <const P extends ApiPath<"get">>(
  path: P,
  query?: Query<"get", P>,
  signal?: AbortSignal,
): Promise<ResponseBody<"get", P>> =>
  callApi("GET", path, { ...(query ? { query } : {}), ...(signal ? { signal } : {}) });

/** Send a POST request and return the response body. `once` is its idempotency key. */
export const post = <const P extends ApiPath<"post">>(
  path: P,
  body?: RequestBody<"post", P>,
  once?: string,
): Promise<ResponseBody<"post", P>> => callApi("POST", path, { body, ...(once ? { once } : {}) });

export const patch = <const P extends ApiPath<"patch">>(
  path: P,
  body: RequestBody<"patch", P>,
): Promise<ResponseBody<"patch", P>> => callApi("PATCH", path, { body });

export const put = <const P extends ApiPath<"put">>(
  path: P,
  body: RequestBody<"put", P>,
): Promise<ResponseBody<"put", P>> => callApi("PUT", path, { body });

export const remove = <const P extends ApiPath<"delete">>(path: P): Promise<ResponseBody<"delete", P>> =>
  callApi("DELETE", path);

/** Requests that are sent before the application has started. Needs no large module, so that it runs first. */

import { parseVisibleJson } from "../../core/text/visibleJson";

/** Answer of the API: the parsed body, as `data` if the request succeeded, else as `error`. */
export interface EarlyAnswer {
  response: Response;
  data?: unknown;
  error?: unknown;
}

type QueryValues = Readonly<Record<string, unknown>>;

/** Answers that are older are dropped: the application has started, or it will request the data again. */
const KEPT_MS = 10_000;

const answers = new Map<string, Promise<EarlyAnswer | undefined>>();

/** Query parameters without absent values. A list is one parameter for each item. */
function toParameters(query: QueryValues): [string, string][] {
  return Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null
      ? []
      : (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, String(item)]),
  );
}

const toAddress = (path: string, query: QueryValues): string => {
  const parameters = new URLSearchParams(toParameters(query));
  parameters.sort();
  return parameters.size > 0 ? `${path}?${parameters}` : path;
};

/** Send a GET request to `/api/v1`. The answer is undefined if the server cannot be reached. */
export function requestEarly(path: string, query: QueryValues = {}): Promise<EarlyAnswer | undefined> {
  const address = toAddress(path, query);
  const answer = readAnswer(`/api/v1${address}`).catch(() => undefined);
  answers.set(address, answer);
  setTimeout(() => answers.delete(address), KEPT_MS);
  return answer;
}

async function readAnswer(url: string): Promise<EarlyAnswer> {
  const response = await globalThis.fetch(url);
  const body = parseVisibleJson(await response.text());
  return response.ok ? { response, data: body } : { response, error: body };
}

/** Return the answer to a request that was sent early, once. Later requests are sent again. */
export function takeEarlyAnswer(
  path: string,
  query: QueryValues = {},
): Promise<EarlyAnswer | undefined> | undefined {
  if (answers.size === 0) return undefined;
  const address = toAddress(path, query);
  const answer = answers.get(address);
  answers.delete(address);
  return answer;
}

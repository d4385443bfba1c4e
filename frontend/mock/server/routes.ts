/** Routes of the mock API, and helpers for their answers. Each resource has its own module. */

export interface MockRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}
export interface MockAnswer {
  status: number;
  body?: unknown;
}

export const respond = (body: unknown, status = 200): MockAnswer => ({ status, body });
export const respondProblem = (
  status: number,
  key: string,
  detail: string,
  params: Record<string, unknown> = {},
): MockAnswer => ({
  status,
  body: { type: "about:blank", title: "", status, detail, key, params },
});
export const respondList = <X>(items: X[]): MockAnswer => respond({ items, next: null });

export type Handler = (request: MockRequest, ...ids: string[]) => MockAnswer;

export const MOCK_ROUTES: [string, RegExp, Handler][] = [];
export const addRoute = (method: string, pattern: string, handler: Handler): void => {
  MOCK_ROUTES.push([method, new RegExp(`^${pattern.replace(/:id/g, "([^/]+)")}$`), handler]);
};

/** How the mock's routes are declared and answered; each subject has a module of its own. */

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

export const ok = (body: unknown, status = 200): MockAnswer => ({ status, body });
export const problem = (
  status: number,
  key: string,
  detail: string,
  params: Record<string, unknown> = {},
): MockAnswer => ({
  status,
  body: { type: "about:blank", title: "", status, detail, key, params },
});
export const list = <X>(items: X[]): MockAnswer => ok({ items, next: null });

export type Handler = (request: MockRequest, ...ids: string[]) => MockAnswer;

export const ROUTES: [string, RegExp, Handler][] = [];
export const route = (method: string, pattern: string, handler: Handler): void => {
  ROUTES.push([method, new RegExp(`^${pattern.replace(/:id/g, "([^/]+)")}$`), handler]);
};

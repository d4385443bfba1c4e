import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApiError, get } from "../api";
import { requestEarly } from "./earlyAnswers";

const fetches = vi.fn<(request: Request | string) => Promise<Response>>();
const json = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", fetches);
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  fetches.mockReset();
});

const ID = "00000000-0000-4000-8000-000000000001" as const;
const tree = () => get(`/profiles/${ID}/tree`, { width: 1200, hide: ["a", "b"], path: undefined });

it("answers the first request of the application with the early answer in any order of the query", async () => {
  fetches.mockImplementation(async () => json(200, { total: 5 }));
  await requestEarly(`/profiles/${ID}/tree`, { hide: ["a", "b"], width: 1200, pid: undefined });
  expect(fetches.mock.calls[0]?.[0]).toBe(`/api/v1/profiles/${ID}/tree?hide=a&hide=b&width=1200`);
  expect(await tree()).toEqual({ total: 5 });
  expect(fetches).toHaveBeenCalledTimes(1);
  await tree();
  expect(fetches).toHaveBeenCalledTimes(2);
});

it("sends requests with another query", async () => {
  fetches.mockImplementation(async () => json(200, { total: 5 }));
  await requestEarly(`/profiles/${ID}/tree`, { width: 1500 });
  await tree();
  expect(fetches).toHaveBeenCalledTimes(2);
});

it("reports an early error as any other error", async () => {
  fetches.mockImplementation(async () => json(404, { title: "no such profile", status: 404 }));
  void requestEarly(`/profiles/${ID}`);
  const error: unknown = await get(`/profiles/${ID}`).catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(ApiError);
  expect((error as ApiError).status).toBe(404);
  expect(fetches).toHaveBeenCalledTimes(1);
});

it("sends the request again if the server could not be reached or its answer is no JSON", async () => {
  for (const early of [() => Promise.reject(new TypeError("away")), async () => new Response("<html>")]) {
    fetches.mockReset();
    fetches.mockImplementationOnce(early).mockImplementation(async () => json(200, { id: ID }));
    void requestEarly(`/profiles/${ID}`);
    expect(await get(`/profiles/${ID}`)).toEqual({ id: ID });
    expect(fetches).toHaveBeenCalledTimes(2);
  }
});

it("drops an answer that nothing reads", async () => {
  fetches.mockImplementation(async () => json(200, { id: ID }));
  await requestEarly(`/profiles/${ID}`);
  vi.advanceTimersByTime(10_000);
  await get(`/profiles/${ID}`);
  expect(fetches).toHaveBeenCalledTimes(2);
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, get, post } from "./api";

const OVERLOADED = { type: "urn:culprit:problem:overloaded", status: 503, key: "platform.busy", params: {} };
const AWAY = { type: "about:blank", status: 503, key: "platform.database_away", params: {} };

const answer = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": status === 200 ? "application/json" : "application/problem+json" },
  });

const requests = vi.fn<(request: Request) => Promise<Response>>();

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", requests);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  requests.mockReset();
});

describe("GET from an overloaded server", () => {
  it("retries after a delay and returns the response", async () => {
    requests
      .mockImplementationOnce(async () => answer(503, OVERLOADED))
      .mockImplementationOnce(async () => answer(503, OVERLOADED))
      .mockImplementation(async () => answer(200, { name: "me" }));
    const read = get("/me");
    await vi.advanceTimersByTimeAsync(400);
    expect(requests).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1200);
    expect(requests).toHaveBeenCalledTimes(2);
    await vi.advanceTimersByTimeAsync(3100);
    expect(await read).toEqual({ name: "me" });
    expect(requests).toHaveBeenCalledTimes(3);
  });

  it("throws an overloaded ApiError after four attempts", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    const read = get("/me").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(11_000);
    const error = await read;
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).overloaded).toBe(true);
    expect((error as ApiError).sentence?.key).toBe("platform.busy");
    expect(requests).toHaveBeenCalledTimes(4);
  });

  it("stops retrying when the request is aborted", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    const controller = new AbortController();
    const read = get("/me", undefined, controller.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    controller.abort();
    expect(((await read) as DOMException).name).toBe("AbortError");
    expect(requests).toHaveBeenCalledTimes(1);
  });
});

describe("requests without retries", () => {
  it("sends a write, and a read without a database, only once", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    await expect(post("/captures", { host_ids: [], plan: "triage" })).rejects.toBeInstanceOf(ApiError);
    expect(requests).toHaveBeenCalledTimes(1);
    requests.mockImplementation(async () => answer(503, AWAY));
    await expect(get("/me")).rejects.toMatchObject({ status: 503, overloaded: false });
    expect(requests).toHaveBeenCalledTimes(2);
  });
});

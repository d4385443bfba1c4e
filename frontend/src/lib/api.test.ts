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

describe("a read that meets an overloaded server", () => {
  it("is repeated after a pause and then answered", async () => {
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

  it("fails after four attempts, and reports that it was repeated", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    const read = get("/me").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(11_000);
    const error = await read;
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).overloaded).toBe(true);
    expect((error as ApiError).sentence?.key).toBe("platform.busy");
    expect(requests).toHaveBeenCalledTimes(4);
  });

  it("is given up when its reader is gone", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    const gone = new AbortController();
    const read = get("/me", undefined, gone.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    gone.abort();
    expect(((await read) as DOMException).name).toBe("AbortError");
    expect(requests).toHaveBeenCalledTimes(1);
  });
});

describe("what is not repeated", () => {
  it("is a write, and a read while the database is away", async () => {
    requests.mockImplementation(async () => answer(503, OVERLOADED));
    await expect(post("/captures", { host_ids: [], plan: "triage" })).rejects.toBeInstanceOf(ApiError);
    expect(requests).toHaveBeenCalledTimes(1);
    requests.mockImplementation(async () => answer(503, AWAY));
    await expect(get("/me")).rejects.toMatchObject({ status: 503, overloaded: false });
    expect(requests).toHaveBeenCalledTimes(2);
  });
});

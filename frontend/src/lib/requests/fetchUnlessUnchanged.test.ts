import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fetchUnlessUnchanged } from "./fetchUnlessUnchanged";

interface Fleet {
  at: string;
  hosts: string[];
}

const tags: (string | null)[] = [];
let now: Fleet;
let tag: string;

/** Respond with 304 if the request has the current ETag, else with the current body. */
async function answer(request: Request): Promise<Response> {
  const requestTag = request.headers.get("If-None-Match");
  tags.push(requestTag);
  const headers = { Date: "Sat, 21 Nov 2026 02:00:15 GMT", ETag: tag, "Content-Type": "application/json" };
  return requestTag === tag
    ? new Response(null, { status: 304, headers })
    : new Response(JSON.stringify(now), { headers });
}

beforeEach(() => {
  tags.length = 0;
  now = { at: "2026-11-21T02:00:00Z", hosts: ["a"] };
  tag = 'W/"1"';
  vi.stubGlobal("fetch", answer);
});
afterEach(() => vi.unstubAllGlobals());

describe("fetchUnlessUnchanged", () => {
  const createClient = () => new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 0 } } });
  const fetchFleet = (client: QueryClient) =>
    client.fetchQuery({ queryKey: ["fleet", "use"], queryFn: fetchUnlessUnchanged("/fleet/use", {}) });

  it("returns the cached response on 304, with the time of the last request", async () => {
    const client = createClient();
    const first = await fetchFleet(client);
    const second = await fetchFleet(client);
    expect(tags).toEqual([null, 'W/"1"']);
    expect(second.hosts).toBe(first.hosts);
    expect(second.at).toBe("2026-11-21T02:00:15.000Z");
  });

  it("returns the new response after a change", async () => {
    const client = createClient();
    await fetchFleet(client);
    now = { at: "2026-11-21T02:01:00Z", hosts: ["a", "b"] };
    tag = 'W/"2"';
    expect((await fetchFleet(client)).hosts).toEqual(["a", "b"]);
    expect((await fetchFleet(client)).hosts).toEqual(["a", "b"]);
    expect(tags).toEqual([null, 'W/"1"', 'W/"2"']);
  });

  it("sends no ETag when the cache is empty", async () => {
    const client = createClient();
    await fetchFleet(client);
    client.clear();
    await fetchFleet(client);
    await fetchFleet(createClient());
    expect(tags).toEqual([null, null, null]);
  });
});

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

/** A server that knows one answer by its tag. */
async function answer(request: Request): Promise<Response> {
  const known = request.headers.get("If-None-Match");
  tags.push(known);
  const headers = { Date: "Sat, 21 Nov 2026 02:00:15 GMT", ETag: tag, "Content-Type": "application/json" };
  return known === tag
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

describe("what is polled", () => {
  const client = () => new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 0 } } });
  const look = (to: QueryClient) =>
    to.fetchQuery({ queryKey: ["fleet", "use"], queryFn: fetchUnlessUnchanged("/fleet/use", {}) });

  it("is not sent again while it is the same, and has the time of the last question", async () => {
    const mine = client();
    const first = await look(mine);
    const second = await look(mine);
    expect(tags).toEqual([null, 'W/"1"']);
    expect(second.hosts).toBe(first.hosts);
    expect(second.at).toBe("2026-11-21T02:00:15.000Z");
  });

  it("is sent once it changed", async () => {
    const mine = client();
    await look(mine);
    now = { at: "2026-11-21T02:01:00Z", hosts: ["a", "b"] };
    tag = 'W/"2"';
    expect((await look(mine)).hosts).toEqual(["a", "b"]);
    expect((await look(mine)).hosts).toEqual(["a", "b"]);
    expect(tags).toEqual([null, 'W/"1"', 'W/"2"']);
  });

  it("is asked for in full where nothing of it is kept any more", async () => {
    const mine = client();
    await look(mine);
    mine.clear();
    await look(mine);
    await look(client());
    expect(tags).toEqual([null, null, null]);
  });
});

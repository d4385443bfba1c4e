import { describe, expect, it } from "vitest";
import { buildProgressBars, computeElapsed, computeStartOffset, type LiveRun } from "./live";

const CREATED = Date.parse("2026-11-21T02:00:00Z");
const run = (over: Partial<LiveRun> = {}): LiveRun => ({
  id: "r",
  started_at: "2026-11-21T02:00:02Z",
  ended_at: null,
  seconds: null,
  collectors: [],
  ...over,
});

describe("progress bars of a capture", () => {
  it("are empty while the run is queued", () => {
    const queued = run({ started_at: null });
    expect(computeStartOffset(queued, CREATED)).toBeUndefined();
    expect(buildProgressBars(queued, CREATED, 5, new Map())).toEqual([]);
  });

  it("grow by the time since the last update, independent of the browser's clock", () => {
    const live = run({
      collectors: [
        { id: "vmstat", state: "running", seconds: null, progress: { elapsed_ms: 4000, planned_ms: 30000 } },
      ],
    });
    expect(computeElapsed(live, 1.5)).toBe(5.5);
    const [bar] = buildProgressBars(live, CREATED, 1.5, new Map());
    expect(bar).toMatchObject({ from: 2, to: 7.5, planned: 32 });
  });

  it("keep the elapsed time when the last collector is done", () => {
    const read = run({ collectors: [{ id: "vmstat", state: "done", seconds: 30, progress: null }] });
    expect(computeElapsed(read, 0.5)).toBe(30.5);
  });

  it("stop at their planned end", () => {
    const live = run({
      collectors: [
        { id: "sched", state: "running", seconds: null, progress: { elapsed_ms: 4900, planned_ms: 5000 } },
      ],
    });
    expect(buildProgressBars(live, CREATED, 60, new Map())[0]?.to).toBe(7);
  });

  it("keep the cached start after the collector is done", () => {
    const seen = new Map<string, number>();
    const running = run({
      collectors: [
        { id: "vmstat", state: "running", seconds: null, progress: { elapsed_ms: 12000, planned_ms: 30000 } },
        { id: "sched", state: "running", seconds: null, progress: { elapsed_ms: 1000, planned_ms: 5000 } },
      ],
    });
    buildProgressBars(running, CREATED, 0, seen);
    const done = run({ collectors: [{ id: "sched", state: "done", seconds: 5, progress: null }] });
    expect(buildProgressBars(done, CREATED, 0, seen)[0]).toMatchObject({ from: 13, to: 18 });
  });

  it("prefer the reported start of a running collector to the cached start", () => {
    const late = run({
      collectors: [
        { id: "vmstat", state: "done", seconds: null, progress: null, started_ns: (CREATED + 2_500) * 1e6 },
        {
          id: "sched",
          state: "running",
          seconds: null,
          progress: { elapsed_ms: 1000, planned_ms: 5000 },
          started_ns: (CREATED + 30_000) * 1e6,
        },
      ],
    });
    expect(computeElapsed(late, 0.5)).toBe(29.5);
    expect(buildProgressBars(late, CREATED, 0.5, new Map([["r/sched", 12]]))[1]).toMatchObject({
      from: 30,
      to: 31.5,
      planned: 35,
    });
  });

  it("use the reported start of a finished collector", () => {
    const done = run({
      collectors: [
        { id: "sched", state: "done", seconds: 5, progress: null, started_ns: (CREATED + 20_000) * 1e6 },
      ],
    });
    expect(buildProgressBars(done, CREATED, 0, new Map())[0]).toMatchObject({ from: 20, to: 25 });
  });

  it("exclude skipped collectors", () => {
    const skipped = run({ collectors: [{ id: "iostat", state: "skipped", seconds: null, progress: null }] });
    expect(buildProgressBars(skipped, CREATED, 0, new Map())).toEqual([]);
  });
});

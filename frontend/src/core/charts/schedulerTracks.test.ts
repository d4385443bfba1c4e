import { describe, expect, it } from "vitest";
import {
  findSegmentAt,
  findWakeup,
  listSchedulerRows,
  listWakeupArrows,
  longestWakeups,
  type SchedulerTracksData,
  type Wakeup,
} from "./schedulerTracks";

const wakeup = (over: Partial<Wakeup>): Wakeup => ({
  offset_ns: 100,
  delay_ns: 50,
  task: 1,
  waker: 0,
  from_cpu: 0,
  to_cpu: 3,
  context: "thread",
  ...over,
});
const tasks = [
  { task: "web", pid: 42, tid: 42 },
  { task: "db", pid: 7, tid: 8 },
];
const byCpu: SchedulerTracksData = {
  t0_ns: 0,
  cpus: [
    { cpu: 0, segments: [[0, 120, 0, 1]] },
    { cpu: 3, segments: [[150, 50, 1, 1]] },
  ],
  threads: [],
  tasks,
  wakeups: [],
};
const byThread: SchedulerTracksData = {
  ...byCpu,
  cpus: [],
  threads: [
    { task: 1, segments: [[150, 50, 3, 1]], waits: [[100, 50, 1, 1]] },
    { task: 0, segments: [[0, 120, 0, 1]], waits: [] },
  ],
};

describe("scheduler tracks", () => {
  it("have arrows from the CPU of the wake-up to the CPU and time at which the thread runs", () => {
    const [arrow] = listWakeupArrows(listSchedulerRows(byCpu), [wakeup({})]);
    expect(arrow).toMatchObject({ fromRow: 0, fromNs: 100, toRow: 1, toNs: 150 });
  });

  it("have arrows between threads at the time of the wake-up", () => {
    const rows = listSchedulerRows(byThread);
    expect(rows.map((row) => row.label)).toEqual(["db 8", "web 42"]);
    const [arrow] = listWakeupArrows(rows, [wakeup({})]);
    expect(arrow).toMatchObject({ fromRow: 1, fromNs: 100, toRow: 0, toNs: 100 });
  });

  it("have no waker for a wake-up from a hard interrupt", () => {
    const [arrow] = listWakeupArrows(listSchedulerRows(byThread), [wakeup({ context: "hard_interrupt" })]);
    expect(arrow?.fromRow).toBeUndefined();
  });

  it("omit arrows to CPUs and threads without a row", () => {
    expect(listWakeupArrows(listSchedulerRows(byCpu), [wakeup({ to_cpu: 9 })])).toEqual([]);
    expect(listWakeupArrows(listSchedulerRows(byThread), [wakeup({ task: 5 })])).toEqual([]);
    expect(
      listWakeupArrows(listSchedulerRows(byThread), [wakeup({ waker: null })])[0]?.fromRow,
    ).toBeUndefined();
  });

  it("return the segment at a time, also within the slack of a narrow segment", () => {
    const segments = [
      [0, 10, 0, 1],
      [20, 1, 1, 1],
    ];
    expect(findSegmentAt(segments, 9)).toBe(segments[0]);
    expect(findSegmentAt(segments, 10)).toBeUndefined();
    expect(findSegmentAt(segments, 19, 2)).toBe(segments[1]);
    expect(findSegmentAt(segments, 22, 2)).toBe(segments[1]);
    expect(findSegmentAt([], 5, 100)).toBeUndefined();
  });

  it("are limited to the wake-ups with the longest waits", () => {
    const list = [1, 5, 3].map((delay_ns) => wakeup({ delay_ns }));
    expect(longestWakeups(list, 2).map((item) => item.delay_ns)).toEqual([5, 3]);
    expect(longestWakeups(list, 3)).toBe(list);
  });

  it("return the wake-up before a time slice", () => {
    const list = [wakeup({ task: 0 }), wakeup({})];
    expect(findWakeup(list, 1, 150)).toBe(list[1]);
    expect(findWakeup(list, 1, 151.5)).toBeUndefined();
  });
});

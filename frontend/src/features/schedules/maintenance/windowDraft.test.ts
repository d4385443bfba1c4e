import { describe, expect, it } from "vitest";
import { beginsOf, complete, emptyWindow, MOST_MIN, windowBody } from "./windowDraft";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const empty = emptyWindow("Europe/Berlin", NOW);
const everywhere = { ...empty, place: "everywhere" as const, reason: " new disks " };
const weekly = { ...everywhere, recurs: true };

describe("maintenance as it is filled in", () => {
  it("is one span, for somewhere, with a reason", () => {
    expect(complete(empty)).toBe(false);
    expect(complete({ ...everywhere, reason: "no" })).toBe(false);
    expect(complete({ ...everywhere, until: "" })).toBe(false);
    expect(complete({ ...everywhere, place: "labels", labels: ["role"] })).toBe(false);
    expect(complete({ ...everywhere, place: "host" })).toBe(false);
    expect(complete(everywhere)).toBe(true);
    expect(beginsOf(everywhere)).toBeUndefined();
    expect(windowBody(everywhere)).toEqual({
      starts_at: "2026-11-22T12:00:00.000Z",
      ends_at: "2026-11-22T13:00:00.000Z",
      reason: "new disks",
    });
  });

  it("comes again for so many minutes, with an end or without one", () => {
    expect(complete(weekly)).toBe(true);
    for (const minutes of ["", 0, 1.5, MOST_MIN + 1]) expect(complete({ ...weekly, minutes })).toBe(false);
    expect(complete({ ...weekly, cron: " " })).toBe(false);
    expect(beginsOf(weekly)).toEqual({ kind: "cron", cron: "0 4 * * 0", zone: "Europe/Berlin" });
    expect(windowBody(weekly)).toEqual({
      starts_at: "2026-11-22T12:00:00.000Z",
      recurs: { cron: "0 4 * * 0", zone: "Europe/Berlin", minutes: 120 },
      reason: "new disks",
    });
    expect(windowBody({ ...weekly, stops: "2027-01-01T00:00:00.000Z" })).toMatchObject({
      ends_at: "2027-01-01T00:00:00.000Z",
    });
  });
});

import { describe, expect, it } from "vitest";
import { emptyWindow, isWindowComplete, MAX_MINUTES, toWindowBody, toWindowCadence } from "./windowDraft";

const NOW = Date.parse("2026-11-22T12:00:00Z");
const empty = emptyWindow("Europe/Berlin", NOW);
const everywhere = { ...empty, place: "everywhere" as const, reason: " new disks " };
const weekly = { ...everywhere, recurs: true };

describe("the draft of a maintenance window", () => {
  it("is complete with an end, a target and a reason", () => {
    expect(isWindowComplete(empty)).toBe(false);
    expect(isWindowComplete({ ...everywhere, reason: "no" })).toBe(false);
    expect(isWindowComplete({ ...everywhere, until: "" })).toBe(false);
    expect(isWindowComplete({ ...everywhere, place: "labels", labels: ["role"] })).toBe(false);
    expect(isWindowComplete({ ...everywhere, place: "host" })).toBe(false);
    expect(isWindowComplete(everywhere)).toBe(true);
    expect(toWindowCadence(everywhere)).toBeUndefined();
    expect(toWindowBody(everywhere)).toEqual({
      starts_at: "2026-11-22T12:00:00.000Z",
      ends_at: "2026-11-22T13:00:00.000Z",
      reason: "new disks",
    });
  });

  it("recurs for a number of minutes, with or without an end", () => {
    expect(isWindowComplete(weekly)).toBe(true);
    for (const minutes of ["", 0, 1.5, MAX_MINUTES + 1])
      expect(isWindowComplete({ ...weekly, minutes })).toBe(false);
    expect(isWindowComplete({ ...weekly, cron: " " })).toBe(false);
    expect(toWindowCadence(weekly)).toEqual({ kind: "cron", cron: "0 4 * * 0", zone: "Europe/Berlin" });
    expect(toWindowBody(weekly)).toEqual({
      starts_at: "2026-11-22T12:00:00.000Z",
      recurs: { cron: "0 4 * * 0", zone: "Europe/Berlin", minutes: 120 },
      reason: "new disks",
    });
    expect(toWindowBody({ ...weekly, stops: "2027-01-01T00:00:00.000Z" })).toMatchObject({
      ends_at: "2027-01-01T00:00:00.000Z",
    });
  });
});

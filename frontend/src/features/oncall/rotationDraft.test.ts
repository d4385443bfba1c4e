import { describe, expect, it } from "vitest";
import { defaultFirstDay, toRotationDraft } from "./rotationDraft";

describe("the first day of a new rotation", () => {
  it("starts the first shift before now, at any hour and in any time zone", () => {
    for (let hour = 0; hour < 24; hour++) {
      const now = new Date(Date.UTC(2026, 10, 23, hour));
      const { firstDay, handover } = toRotationDraft("UTC", defaultFirstDay(now));
      for (const offset of ["-12:00", "+00:00", "+14:00"])
        expect(Date.parse(`${firstDay}T${handover}:00${offset}`)).toBeLessThanOrEqual(now.getTime());
    }
  });
});

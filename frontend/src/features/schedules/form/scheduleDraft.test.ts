import { describe, expect, it } from "vitest";
import { SCHEDULES } from "../../../../mock/automation/schedules";
import type { Schedule } from "../../../client/models";
import {
  emptyDraft,
  isScheduleComplete,
  toCadence,
  toCreateBody,
  toScheduleDraft,
  toTarget,
  toUpdateBody,
} from "./scheduleDraft";

const NIGHTLY = SCHEDULES[0] as Schedule;

describe("the draft of a schedule", () => {
  it("defaults to a nightly baseline in the user's time zone", () => {
    const draft = { ...emptyDraft("Asia/Shanghai"), name: "nightly", labels: ["role=feed"] };
    expect(isScheduleComplete(draft)).toBe(true);
    expect(toCreateBody(draft)).toMatchObject({
      cadence: { kind: "cron", cron: "30 3 * * *", zone: "Asia/Shanghai" },
      capture: { plan: "baseline" },
      target: { labels: { role: "feed" } },
      catch_up: "none",
      tolerance_s: 300,
    });
    expect(toCreateBody(draft)).not.toHaveProperty("allow_deep");
  });

  it("is incomplete without a target, a time, or the collectors of a custom plan", () => {
    const draft = { ...emptyDraft("UTC"), name: "x", labels: ["role=feed"] };
    expect(isScheduleComplete({ ...draft, labels: [] })).toBe(false);
    expect(isScheduleComplete({ ...draft, labels: ["role"] })).toBe(false);
    expect(isScheduleComplete({ ...draft, where: "hosts" })).toBe(false);
    expect(isScheduleComplete({ ...draft, cron: " " })).toBe(false);
    expect(isScheduleComplete({ ...draft, kind: "once" })).toBe(false);
    expect(isScheduleComplete({ ...draft, plan: "custom" })).toBe(false);
    expect(toCadence({ ...draft, kind: "once", localTime: "2026-11-23T02:30" })).toEqual({
      kind: "once",
      local_time: "2026-11-23T02:30:00",
      zone: "UTC",
    });
    expect(toTarget({ ...draft, where: "hosts", hosts: ["h"] })).toEqual({ host_ids: ["h"] });
  });

  it("sends only changed fields, because they determine the owner", () => {
    const draft = toScheduleDraft(NIGHTLY);
    expect(toUpdateBody(draft, NIGHTLY)).toEqual({ version: NIGHTLY.version });
    expect(toUpdateBody({ ...draft, reason: "because" }, NIGHTLY)).toEqual({
      version: NIGHTLY.version,
      reason: "because",
    });
    expect(toUpdateBody({ ...draft, plan: "triage", allowDeep: true }, NIGHTLY)).toEqual({
      version: NIGHTLY.version,
      capture: { plan: "triage" },
      allow_deep: true,
    });
  });
});

import { describe, expect, it } from "vitest";
import { SCHEDULES } from "../../../mock/schedules";
import type { Schedule } from "../../client/schedules";
import { cadenceOf, complete, createBody, draftOf, emptyDraft, targetOf, updateBody } from "./scheduleDraft";

const NIGHTLY = SCHEDULES[0] as Schedule;

describe("the draft of a schedule", () => {
  it("begins as a nightly baseline in the reader's zone", () => {
    const draft = { ...emptyDraft("Asia/Shanghai"), name: "nightly", labels: ["role=feed"] };
    expect(complete(draft)).toBe(true);
    expect(createBody(draft)).toMatchObject({
      cadence: { kind: "cron", cron: "30 3 * * *", zone: "Asia/Shanghai" },
      wanted: { plan: "baseline" },
      target: { labels: { role: "feed" } },
      catch_up: "none",
      grace_s: 300,
    });
    expect(createBody(draft)).not.toHaveProperty("allow_deep");
  });

  it("is not complete without hosts, a time, or collectors of one's own", () => {
    const draft = { ...emptyDraft("UTC"), name: "x", labels: ["role=feed"] };
    expect(complete({ ...draft, labels: [] })).toBe(false);
    expect(complete({ ...draft, labels: ["role"] })).toBe(false);
    expect(complete({ ...draft, where: "hosts" })).toBe(false);
    expect(complete({ ...draft, cron: " " })).toBe(false);
    expect(complete({ ...draft, kind: "once" })).toBe(false);
    expect(complete({ ...draft, plan: "custom" })).toBe(false);
    expect(cadenceOf({ ...draft, kind: "once", wall: "2026-11-23T02:30" })).toEqual({
      kind: "once",
      wall: "2026-11-23T02:30:00",
      zone: "UTC",
    });
    expect(targetOf({ ...draft, where: "hosts", hosts: ["h"] })).toEqual({ host_ids: ["h"] });
  });

  it("sends only what somebody has changed, for that decides who owns it", () => {
    const draft = draftOf(NIGHTLY);
    expect(updateBody(draft, NIGHTLY)).toEqual({ version: NIGHTLY.version });
    expect(updateBody({ ...draft, reason: "because" }, NIGHTLY)).toEqual({
      version: NIGHTLY.version,
      reason: "because",
    });
    expect(updateBody({ ...draft, plan: "triage", allowDeep: true }, NIGHTLY)).toEqual({
      version: NIGHTLY.version,
      wanted: { plan: "triage" },
      allow_deep: true,
    });
  });
});

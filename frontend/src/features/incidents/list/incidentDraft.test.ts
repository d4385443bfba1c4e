import { describe, expect, it } from "vitest";
import { draftOf, suggested, symptomBody, symptomFits, typedNumber } from "./incidentDraft";

describe("a symptom as it is typed", () => {
  it.each([
    ["2.3", 2.3],
    ["2,3", 2.3],
    [" 40 ", 40],
    ["", undefined],
    ["many", undefined],
  ])("reads %j as %j", (text, value) => expect(typedNumber(text)).toBe(value));

  it("sends only what is known", () => {
    const draft = draftOf();
    draft.latency.after = "2300";
    expect(symptomBody(draft)).toMatchObject({
      latency: { before: null, after: 2300, unit: "ms" },
      errors: null,
      since: null,
    });
    draft.errors.before = "few";
    expect(symptomFits(draft)).toBe(false);
  });

  it("comes back as it was told", () => {
    const told = {
      service: "feed",
      says: "slow",
      rate: null,
      errors: null,
      latency: { before: 5, after: 9, unit: "min" },
      since: null,
    };
    expect(symptomBody(draftOf(told))).toEqual(told);
  });
});

describe("playbooks that are suggested", () => {
  const book = (id: string, causes: string[], symptom: string, steps = 3) => ({
    id,
    kind: "case",
    steps,
    title: { en: id, zh: id },
    symptom: { en: symptom, zh: "请求变慢" },
    causes,
  });
  const books = [
    book("disk", ["disk-saturated"], "reads are slow"),
    book("cpu", ["cpu-oversubscribed"], "requests wait"),
    book("reference", ["cpu-oversubscribed"], "requests wait", 0),
  ];

  it("are those of a named cause first, then those with the same words", () => {
    expect(suggested(books, ["cpu-oversubscribed"], "slow reads").map((one) => one.id)).toEqual([
      "cpu",
      "disk",
    ]);
    expect(suggested(books, [], "Reads!").map((one) => one.id)).toEqual(["disk"]);
    expect(suggested(books, [], "服务变慢了").map((one) => one.id)).toEqual(["disk", "cpu"]);
    expect(suggested(books, [], "")).toEqual([]);
  });
});

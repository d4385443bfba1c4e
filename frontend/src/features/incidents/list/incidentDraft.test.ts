import { describe, expect, it } from "vitest";
import {
  isSymptomValid,
  parseNumber,
  suggestPlaybooks,
  toSymptomBody,
  toSymptomDraft,
} from "./incidentDraft";

describe("the draft of a symptom", () => {
  it.each([
    ["2.3", 2.3],
    ["2,3", 2.3],
    [" 40 ", 40],
    ["", undefined],
    ["many", undefined],
  ])("parses %j as %j", (text, value) => expect(parseNumber(text)).toBe(value));

  it("sends null for empty fields", () => {
    const draft = toSymptomDraft();
    draft.latency.after = "2300";
    expect(toSymptomBody(draft)).toMatchObject({
      latency: { before: null, after: 2300, unit: "ms" },
      errors: null,
      since: null,
    });
    draft.errors.before = "few";
    expect(isSymptomValid(draft)).toBe(false);
  });

  it("is unchanged after a round trip", () => {
    const levels = {
      service: "feed",
      description: "slow",
      rate: null,
      errors: null,
      latency: { before: 5, after: 9, unit: "min" },
      since: null,
    };
    expect(toSymptomBody(toSymptomDraft(levels))).toEqual(levels);
  });
});

describe("suggested playbooks", () => {
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

  it("start with those of a named cause, then those that share words", () => {
    expect(suggestPlaybooks(books, ["cpu-oversubscribed"], "slow reads").map((item) => item.id)).toEqual([
      "cpu",
      "disk",
    ]);
    expect(suggestPlaybooks(books, [], "Reads!").map((item) => item.id)).toEqual(["disk"]);
    expect(suggestPlaybooks(books, [], "服务变慢了").map((item) => item.id)).toEqual(["disk", "cpu"]);
    expect(suggestPlaybooks(books, [], "")).toEqual([]);
  });
});

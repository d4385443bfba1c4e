import { describe, expect, it } from "vitest";
import {
  isSymptomValid,
  parseNumber,
  suggestPlaybooks,
  toSymptomBody,
  toSymptomDraft,
} from "./incidentDraft";

describe("a symptom as it is typed", () => {
  it.each([
    ["2.3", 2.3],
    ["2,3", 2.3],
    [" 40 ", 40],
    ["", undefined],
    ["many", undefined],
  ])("reads %j as %j", (text, value) => expect(parseNumber(text)).toBe(value));

  it("sends only what is known", () => {
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

  it("comes back as typed", () => {
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
    expect(suggestPlaybooks(books, ["cpu-oversubscribed"], "slow reads").map((item) => item.id)).toEqual([
      "cpu",
      "disk",
    ]);
    expect(suggestPlaybooks(books, [], "Reads!").map((item) => item.id)).toEqual(["disk"]);
    expect(suggestPlaybooks(books, [], "服务变慢了").map((item) => item.id)).toEqual(["disk", "cpu"]);
    expect(suggestPlaybooks(books, [], "")).toEqual([]);
  });
});

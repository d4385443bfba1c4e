import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import enIncidents from "../../i18n/server.incidents.en.json";
import zhIncidents from "../../i18n/server.incidents.zh.json";
import enRequests from "../../i18n/server.requests.en.json";
import zhRequests from "../../i18n/server.requests.zh.json";
import enRuns from "../../i18n/server.runs.en.json";
import zhRuns from "../../i18n/server.runs.zh.json";
import { fillSummary } from "./figures";
import { fillTemplate } from "./fillTemplate";
import { fillPlaceholders } from "./messageText";

interface Case {
  readonly template: string;
  readonly params: Record<string, unknown>;
  readonly text: string;
}

/** Test cases shared with the server, which fills templates by the same rules. */
const SHARED = resolve(import.meta.dirname, "../../../../backend/culprit/tests/domain/fill_cases.json");
const CASES = JSON.parse(readFileSync(SHARED, "utf8")) as Case[];
const EMPTY_BRACKETS = /[(（][\s,–]*[)）]/;
const templates = fc.constantFrom(
  ...[enIncidents, zhIncidents, enRequests, zhRequests, enRuns, zhRuns].flatMap((texts) =>
    Object.values(texts),
  ),
);
const values = fc.constantFrom("", " ", null, "x", 0, 2.5);

describe("template with empty values", () => {
  it.each(CASES)("is filled as by the server: $template", ({ template, params, text }) => {
    expect(fillPlaceholders(template, params)).toBe(text);
  });

  it("has no empty parentheses in any message of the server", () => {
    fc.assert(
      fc.property(templates, fc.infiniteStream(values), (template, stream) => {
        const params = new Map<string, unknown>();
        const lookUp = (name: string) => {
          if (!params.has(name)) params.set(name, stream.next().value);
          return params.get(name);
        };
        const text = fillTemplate(template, lookUp);
        expect(EMPTY_BRACKETS.test(text)).toBe(EMPTY_BRACKETS.test(template));
        expect(text).not.toContain("  ");
        expect(text).not.toMatch(/\{\w+\}/);
      }),
    );
  });

  it("renders the summary of a finding without details", () => {
    const number = { measure: "m", value: 3, unit: "pct", op: ">", threshold: 25, baseline: null };
    const finding = {
      rule: "F-X",
      subject: {},
      detail: { frames: "", by: "", policy: "" },
      numbers: [{ ...number, sample_count: 8, citations: [] }],
    };
    const summary = "{value} % is in the collector ({frames}); mainly {by} ({policy}).";
    expect(fillSummary(summary, finding)).toBe("3 % is in the collector; mainly –.");
  });
});

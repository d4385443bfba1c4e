import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatSearch, parseSearch } from "./search";

describe("query parameters", () => {
  it("survive formatting and parsing", () => {
    const key = fc.stringMatching(/^[a-z]{1,8}$/).filter((name) => name !== "constructor");
    const record = fc.dictionary(key, fc.string({ minLength: 1, unit: "grapheme" }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(record, (search) => {
        expect(parseSearch(formatSearch(search))).toEqual(search);
      }),
    );
  });

  it("hide no characters, because others write links", () => {
    expect(parseSearch("?q=safe%E2%80%AEgpj.exe%1B")).toEqual({ q: "safe\ufffdgpj.exe\ufffd" });
  });

  it("are readable and sorted by key", () => {
    expect(formatSearch({ t: "1~2", b: "a,b:c", empty: "", none: undefined })).toBe("?b=a,b:c&t=1~2");
    expect(formatSearch({})).toBe("");
  });
});

import { describe, expect, it } from "vitest";
import { findMentionPrefix, splitComment } from "./comment";

const links = (text: string) =>
  splitComment(text, []).flatMap((commentPart) => (commentPart.kind === "link" ? [commentPart.text] : []));
const people = (text: string, names: string[]) =>
  splitComment(text, names).flatMap((commentPart) =>
    commentPart.kind === "person" ? [commentPart.text] : [],
  );

describe("parts of a comment", () => {
  it("link only http and https URLs", () => {
    expect(links("see https://a.example/x?y=1#z, and http://b.example.")).toEqual([
      "https://a.example/x?y=1#z",
      "http://b.example",
    ]);
    expect(links("(https://en.wikipedia.org/wiki/Futex_(Linux))")).toEqual([
      "https://en.wikipedia.org/wiki/Futex_(Linux)",
    ]);
    for (const bad of [
      "javascript:alert(1)",
      "data:text/html,<script>",
      "//evil.example",
      "ftp://x.example",
      "https://",
      "https://good.example@evil.example/",
      `https://x.example/${"a".repeat(2000)}`,
    ])
      expect(links(bad)).toEqual([]);
  });

  it("keep markup as text", () => {
    const text = '<img src=x onerror=alert(1)> **b** [x](https://a.example"onclick=1)';
    expect(
      splitComment(text, [])
        .map((commentPart) => commentPart.text)
        .join(""),
    ).toBe(text);
    expect(links(text)).toEqual(["https://a.example"]);
  });

  it("mention users as whole words, with the longest name preferred", () => {
    expect(people("@ada lovelace and @ada, not @adam nor x@ada", ["ada", "ada lovelace"])).toEqual([
      "@ada lovelace",
      "@ada",
    ]);
    expect(people("@LENA", ["lena"])).toEqual(["@LENA"]);
  });

  it("are together the text of the comment", () => {
    const parts = ["@ada", "https://a.example/(x)", "<b>", "é", "\n", "@", "https://", ")", ".", " ", "😀"];
    let seed = 7;
    const next = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed;
    };
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: next() % 9 }, () => parts[next() % parts.length]).join("");
      expect(
        splitComment(text, ["ada"])
          .map((commentPart) => commentPart.text)
          .join(""),
      ).toBe(text);
    }
  });

  it("return the prefix of a mention at the caret", () => {
    expect(findMentionPrefix("hello @le", 9)).toEqual({ at: 6, typed: "le" });
    expect(findMentionPrefix("mail a@le", 9)).toBeUndefined();
    expect(findMentionPrefix("@lena, and", 10)).toBeUndefined();
  });
});

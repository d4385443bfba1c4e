import { describe, expect, it } from "vitest";
import { parseVisibleJson, showHidden } from "./visibleJson";

describe("parseVisibleJson", () => {
  it("replaces hidden characters in texts and names at any depth, however they are encoded", () => {
    const json = '{"a\\u202e":["x\u202ey",{"b":"\\u001b[31m"}],"c":"\\b\\f\u0085\u061c","n":1,"z":null}';
    expect(parseVisibleJson(json)).toEqual({
      "a\ufffd": ["x\ufffdy", { b: "\ufffd[31m" }],
      c: "\ufffd\ufffd\ufffd\ufffd",
      n: 1,
      z: null,
    });
  });

  it("keeps tabs, line ends, other scripts and joined emoji", () => {
    const value = {
      text: "a\tb\r\nc",
      names: ["部署", "שלום", "نعم", "\u{1f469}\u200d\u{1f692}", "C:\\users\\new"],
    };
    expect(parseVisibleJson(JSON.stringify(value))).toEqual(value);
    expect(parseVisibleJson(JSON.stringify(value).replaceAll("部", "\\u90e8"))).toEqual(value);
  });

  it("keeps a property named __proto__ a property", () => {
    const value = parseVisibleJson('{"__proto__":{"x":"\\u0007"}}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.entries(value)).toEqual([["__proto__", { x: "\ufffd" }]]);
  });

  it("refuses what is not JSON", () => {
    expect(() => parseVisibleJson("<html>")).toThrow(SyntaxError);
  });
});

describe("showHidden", () => {
  it("replaces each hidden character", () => {
    expect(showHidden("safe\u202egpj.exe\u200f")).toBe("safe\ufffdgpj.exe\ufffd");
  });
});

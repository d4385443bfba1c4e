import { describe, expect, it } from "vitest";
import { fillPlaceholders, messageText } from "./messageText";

describe("messages of the server", () => {
  it("are filled with their parameters", () => {
    expect(
      messageText({ key: "a", params: { tool: "perf", n: 2 } }, { a: "{tool} is missing {n} times" }),
    ).toBe("perf is missing 2 times");
  });

  it("keep placeholders without a parameter", () => {
    expect(fillPlaceholders("{tool} on {host}", { tool: "perf" })).toBe("perf on {host}");
  });

  it("display an unknown key with its parameters", () => {
    expect(messageText({ key: "run.odd", params: { n: 2 } }, {})).toBe("run.odd (n=2)");
    expect(messageText({ key: "run.odd", params: {} }, {})).toBe("run.odd");
    expect(messageText(null, {})).toBe("");
  });

  it("do not interpret placeholders in parameters", () => {
    expect(fillPlaceholders("{a}", { a: "{b}<script>", b: "x" })).toBe("{b}<script>");
  });
});

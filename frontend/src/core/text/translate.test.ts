import { describe, expect, it } from "vitest";
import { translateKey } from "./translate";

const TEXTS = new Map([
  ["hosts.title", "Hosts"],
  ["hosts.at", "{{name}} at {{ at }}"],
  ["hosts.count_one", "{{count}} host"],
  ["hosts.count_other", "{{count}} hosts"],
]);

describe("translateKey", () => {
  it("fills placeholders, and leaves out those without a value", () => {
    expect(translateKey(TEXTS, "en", "hosts.title")).toBe("Hosts");
    expect(translateKey(TEXTS, "en", "hosts.at", { name: "db-1", at: 3 })).toBe("db-1 at 3");
    expect(translateKey(TEXTS, "en", "hosts.at", { name: "{{at}}" })).toBe("{{at}} at ");
  });

  it("selects the plural form of the language", () => {
    expect(translateKey(TEXTS, "en", "hosts.count", { count: 1 })).toBe("1 host");
    expect(translateKey(TEXTS, "en", "hosts.count", { count: 0 })).toBe("0 hosts");
    expect(translateKey(TEXTS, "zh", "hosts.count", { count: 1 })).toBe("1 hosts");
  });

  it("returns the default value or the key of a text that does not exist", () => {
    expect(translateKey(TEXTS, "en", "hosts.none")).toBe("hosts.none");
    expect(translateKey(TEXTS, "en", "hosts.none", { defaultValue: "" })).toBe("");
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CollectorInfo, ScopeKind } from "../../client/models";
import type { CollectorOption } from "./api";
import {
  errorFieldOf,
  filledOptions,
  isOptionValid,
  isScopeValid,
  parseScope,
  SCOPE_KINDS,
  scopeText,
} from "./scope";

const option = (name: string, pattern: string, required = false): CollectorOption => ({
  name,
  pattern,
  title: { en: name, zh: name },
  default: "",
  required,
});

describe("what a capture looks at", () => {
  it.each<[ScopeKind, string]>([
    ["host", ""],
    ["process", "4194304"],
    ["cgroup", "/system.slice/feed.service"],
    ["cgroup", "/"],
    ["unit", "feed@1.service"],
    ["container", "9f86d081"],
    ["port", "65535"],
  ])("takes %s %j", (kind, value) => expect(isScopeValid({ kind, value })).toBe(true));

  it.each<[ScopeKind, string]>([
    ["host", "x"],
    ["process", ""],
    ["process", "0"],
    ["process", "4194305"],
    ["cgroup", "system.slice"],
    ["cgroup", "/a/../b"],
    ["unit", "-x"],
    ["unit", "a b"],
    ["container", "$(id)"],
    ["port", "65536"],
    ["port", "80\n"],
  ])("refuses %s %j", (kind, value) => expect(isScopeValid({ kind, value })).toBe(false));

  it("survives the way through an address", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SCOPE_KINDS), fc.string(), (kind, value) => {
        const scope = { kind, value: kind === "host" ? "" : value };
        expect(parseScope(scopeText(scope))).toEqual(scope);
      }),
    );
    expect(parseScope("nonsense=1")).toEqual({ kind: "host", value: "" });
  });
});

describe("values for collectors", () => {
  it("must match as a whole, and may be left out", () => {
    const port = option("port", "[1-9][0-9]{0,4}");
    expect(["", "6379"].every((value) => isOptionValid(port, value))).toBe(true);
    expect(["0", "6379x", "x6379"].some((value) => isOptionValid(port, value))).toBe(false);
  });

  it("must be there where the collector cannot run without", () => {
    const needed = option("function", "[a-z_]+", true);
    expect([isOptionValid(needed, ""), isOptionValid(needed, "vfs_open")]).toEqual([false, true]);
  });

  it("are left to the server where the pattern cannot be read here", () => {
    expect(isOptionValid(option("x", "(?P<a>b)"), "anything")).toBe(true);
  });

  it("are sent for chosen collectors only, without blanks", () => {
    const redis = { id: "redis_info", options: [option("port", "[0-9]+")] } as CollectorInfo;
    const typed = { redis_info: { port: " 6379 ", gone: "1" }, pcap: { port: "80" } };
    expect(filledOptions([redis], typed)).toEqual({ redis_info: { port: "6379" } });
    expect(filledOptions([redis], { redis_info: { port: " " } })).toEqual({});
  });
});

it("puts each refusal next to its field, and others at the bottom", () => {
  const place = (key: string) => errorFieldOf({ key, params: {} });
  expect(place("capture.ptrace_one_process")).toBe("scope");
  expect(place("capture.ptrace_one_host")).toBe("hosts");
  expect(place("capture.ptrace_not_allowed")).toBe("consent");
  expect(place("auth.role_too_low")).toBe("bottom");
});

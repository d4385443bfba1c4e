import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CollectorInfo, ScopeKind } from "../../client/models";
import type { CollectorOption } from "./api";
import {
  errorFieldOf,
  formatScope,
  isOptionValid,
  isScopeValid,
  parseScope,
  pickFilledOptions,
  SCOPE_KINDS,
} from "./scope";

const option = (name: string, pattern: string, required = false): CollectorOption => ({
  name,
  pattern,
  title: { en: name, zh: name },
  default: "",
  required,
});

describe("the scope of a capture", () => {
  it.each<[ScopeKind, string]>([
    ["host", ""],
    ["process", "4194304"],
    ["cgroup", "/system.slice/feed.service"],
    ["cgroup", "/"],
    ["unit", "feed@1.service"],
    ["container", "9f86d081"],
    ["port", "65535"],
  ])("accepts %s %j", (kind, value) => expect(isScopeValid({ kind, value })).toBe(true));

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
  ])("rejects %s %j", (kind, value) => expect(isScopeValid({ kind, value })).toBe(false));

  it("is unchanged after a round trip through a URL", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SCOPE_KINDS), fc.string(), (kind, value) => {
        const scope = { kind, value: kind === "host" ? "" : value };
        expect(parseScope(formatScope(scope))).toEqual(scope);
      }),
    );
    expect(parseScope("nonsense=1")).toEqual({ kind: "host", value: "" });
  });
});

describe("option values of collectors", () => {
  it("must match the whole pattern, and can be empty", () => {
    const port = option("port", "[1-9][0-9]{0,4}");
    expect(["", "6379"].every((value) => isOptionValid(port, value))).toBe(true);
    expect(["0", "6379x", "x6379"].some((value) => isOptionValid(port, value))).toBe(false);
  });

  it("cannot be empty if required", () => {
    const needed = option("function", "[a-z_]+", true);
    expect([isOptionValid(needed, ""), isOptionValid(needed, "vfs_open")]).toEqual([false, true]);
  });

  it("are checked only by the server if the browser cannot compile the pattern", () => {
    expect(isOptionValid(option("x", "(?P<a>b)"), "anything")).toBe(true);
  });

  it("are sent only for selected collectors, trimmed and without empty values", () => {
    const redis = { id: "redis_info", options: [option("port", "[0-9]+")] } as CollectorInfo;
    const typed = { redis_info: { port: " 6379 ", gone: "1" }, pcap: { port: "80" } };
    expect(pickFilledOptions([redis], typed)).toEqual({ redis_info: { port: "6379" } });
    expect(pickFilledOptions([redis], { redis_info: { port: " " } })).toEqual({});
  });
});

it("assigns each error to its form field, and other errors to the bottom", () => {
  const place = (key: string) => errorFieldOf({ key, params: {} });
  expect(place("capture.ptrace_one_process")).toBe("scope");
  expect(place("capture.ptrace_one_host")).toBe("hosts");
  expect(place("capture.ptrace_not_allowed")).toBe("consent");
  expect(place("auth.role_too_low")).toBe("bottom");
});

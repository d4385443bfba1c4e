import { describe, expect, it } from "vitest";
import { subjectParts } from "./subject";

const told = (...args: Parameters<typeof subjectParts>) =>
  subjectParts(...args).map(({ kind, name, value }) => `${kind}:${name}:${value}`);

describe("the parts of a subject", () => {
  it("make one of a process's name and number, and begin with it", () => {
    expect(told({ dev: "sda", pid: "7", comm: "items" })).toEqual(["named:items:7", "dev:dev:sda"]);
    expect(told({ pid: "7" }, "items")).toEqual(["named:items:7"]);
    expect(told({ pid: "7" })).toEqual(["pid:pid:7"]);
    expect(told({ comm: "kswapd0" })).toEqual(["comm:comm:kswapd0"]);
  });

  it("leave out what is known already", () => {
    const scope = { pid: "7", comm: "items", cgroup: "/svc" };
    expect(told({ ...scope, dev: "sda" }, "", scope)).toEqual(["dev:dev:sda"]);
    expect(told({ ...scope, pid: "8" }, "", scope)).toEqual(["named:items:8"]);
    expect(told({}, "items")).toEqual([]);
  });

  it("keep a name that nobody knows", () => {
    expect(told({ flavour: "odd" })).toEqual(["other:flavour:odd"]);
  });
});

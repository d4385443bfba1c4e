import { describe, expect, it } from "vitest";
import { subjectParts } from "./subject";

const partsOf = (...args: Parameters<typeof subjectParts>) =>
  subjectParts(...args).map(({ kind, name, value }) => `${kind}:${name}:${value}`);

describe("the parts of a subject", () => {
  it("combine name and number of the process, and come first", () => {
    expect(partsOf({ dev: "sda", pid: "7", comm: "items" })).toEqual(["named:items:7", "dev:dev:sda"]);
    expect(partsOf({ pid: "7" }, "items")).toEqual(["named:items:7"]);
    expect(partsOf({ pid: "7" })).toEqual(["pid:pid:7"]);
    expect(partsOf({ comm: "kswapd0" })).toEqual(["comm:comm:kswapd0"]);
  });

  it("leave out known parts", () => {
    const scope = { pid: "7", comm: "items", cgroup: "/svc" };
    expect(partsOf({ ...scope, dev: "sda" }, "", scope)).toEqual(["dev:dev:sda"]);
    expect(partsOf({ ...scope, pid: "8" }, "", scope)).toEqual(["named:items:8"]);
    expect(partsOf({}, "items")).toEqual([]);
  });

  it("keep an unknown name", () => {
    expect(partsOf({ flavour: "odd" })).toEqual(["other:flavour:odd"]);
  });
});

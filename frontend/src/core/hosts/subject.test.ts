import { describe, expect, it } from "vitest";
import { subjectParts } from "./subject";

const partsOf = (...args: Parameters<typeof subjectParts>) =>
  subjectParts(...args).map(({ kind, name, value }) => `${kind}:${name}:${value}`);

describe("subjectParts", () => {
  it("combines name and pid of the process into the first part", () => {
    expect(partsOf({ dev: "sda", pid: "7", comm: "items" })).toEqual(["named:items:7", "dev:dev:sda"]);
    expect(partsOf({ pid: "7" }, "items")).toEqual(["named:items:7"]);
    expect(partsOf({ pid: "7" })).toEqual(["pid:pid:7"]);
    expect(partsOf({ comm: "kswapd0" })).toEqual(["comm:comm:kswapd0"]);
  });

  it("omits the parts in `within`", () => {
    const scope = { pid: "7", comm: "items", cgroup: "/svc" };
    expect(partsOf({ ...scope, dev: "sda" }, "", scope)).toEqual(["dev:dev:sda"]);
    expect(partsOf({ ...scope, pid: "8" }, "", scope)).toEqual(["named:items:8"]);
    expect(partsOf({}, "items")).toEqual([]);
  });

  it("keeps parts with an unknown name", () => {
    expect(partsOf({ flavour: "odd" })).toEqual(["other:flavour:odd"]);
  });
});

import { describe, expect, it } from "vitest";
import { firstStep, groupByBranch, isContradicted, limitBranches, orderSteps, symptomStep } from "./chain";

const step = (key: string, about: string, verdicts: ("supports" | "refutes" | "not_collected")[] = []) => ({
  key: `book/${key}`,
  playbook: "book",
  about,
  on_path: true,
  hosts: verdicts.map((verdict) => ({ verdict })),
});

describe("evidence chain", () => {
  const steps = [step("a", "book/h2"), step("b", "symptom"), step("c", "h1"), step("d", "book/h2")];
  const hypotheses = [{ key: "book/h1" }, { key: "book/h2" }, { key: "own/1" }];

  it("limits many hypotheses to ten, and to those with evidence or that matter now", () => {
    const many = (n: number) =>
      Array.from({ length: n }, (_, at) => ({
        hypothesis: { key: `h${at}`, status: at === 20 ? "supported" : "open" },
        steps: [],
      }));
    const names = (n: number) =>
      limitBranches(many(n), ({ hypothesis }) => hypothesis?.key === "h25").map(
        ({ hypothesis }) => hypothesis?.key,
      );
    expect(names(12)).toHaveLength(12);
    expect(names(30)).toEqual(["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h20", "h25"]);
    expect(limitBranches(many(30), () => true)).toHaveLength(30);
  });

  it("groups steps by hypothesis, gates first", () => {
    expect(
      groupByBranch(steps, hypotheses).map((branch) => [
        branch.hypothesis?.key,
        branch.steps.map((s) => s.key),
      ]),
    ).toEqual([
      [undefined, ["book/b"]],
      ["book/h1", ["book/c"]],
      ["book/h2", ["book/a", "book/d"]],
      ["own/1", []],
    ]);
    expect(orderSteps(steps, hypotheses)).toEqual(["book/b", "book/c", "book/a", "book/d"]);
  });

  it("selects the next step, else a gap, else a step on the path", () => {
    expect(firstStep(steps, ["book/c"], "book/d")).toBe("book/d");
    expect(firstStep(steps, ["book/c"], undefined)).toBe("book/c");
    expect(firstStep(steps, [], undefined)).toBe("book/a");
    expect(firstStep([], [], undefined)).toBeUndefined();
  });

  it("is split if verdicts of hosts contradict each other, not if a verdict is missing", () => {
    expect(isContradicted(step("a", "x", ["supports", "refutes"]).hosts)).toBe(true);
    expect(isContradicted(step("a", "x", ["supports", "not_collected"]).hosts)).toBe(false);
  });

  it("verifies the symptom with a step of the given playbook, else with any collecting step", () => {
    const collecting = (playbook: string, about: string, finding: string, verdict = "supports") => ({
      ...step(`${about}-${finding}`, about),
      key: `${playbook}/${about}`,
      playbook,
      finding,
      verdict,
    });
    const all = [
      collecting("a", "h1", "F-1"),
      collecting("a", "symptom", "F-2"),
      collecting("b", "symptom", "F-3"),
    ];
    expect(symptomStep(all, "b")).toBe("b/symptom");
    expect(symptomStep(all, "c")).toBe("a/symptom");
    expect(symptomStep([collecting("a", "symptom", ""), collecting("a", "h1", "F-1")], "a")).toBe("a/h1");
    expect(symptomStep([collecting("a", "symptom", "")], "a")).toBeUndefined();
    const unanswered = { ...collecting("b", "symptom", "F-4", "not_collected"), key: "b/probe" };
    expect(symptomStep([unanswered, ...all], "b")).toBe("b/symptom");
    expect(symptomStep([unanswered], "b")).toBe("b/probe");
  });
});

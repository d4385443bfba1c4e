import type { FleetFinding, FleetFindingsHost } from "../api";

/** Return the finding of a rule on a host; without a match it contains only the state. Undefined if not evaluated. */
export function ruleResult(host: FleetFindingsHost, rule: string): FleetFinding | undefined {
  const matched = host.matched.find((result) => result.rule === rule);
  if (matched) return matched;
  const unsure = host.inconclusive.includes(rule);
  if (!unsure && !host.not_matched.includes(rule)) return undefined;
  return {
    rule,
    state: unsure ? "inconclusive" : "not_matched",
    severity: "info",
    value: null,
    threshold: null,
    subject: {},
    subjects: 0,
    run_index: 0,
  };
}

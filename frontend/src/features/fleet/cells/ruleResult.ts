import type { FleetFindingsHost, FleetWord } from "../../client/types";

/** The word of a rule about a host; what is quiet or not sure is known by its rule alone. */
export function wordOf(host: FleetFindingsHost, rule: string): FleetWord | undefined {
  const fired = host.fired.find((one) => one.rule === rule);
  if (fired) return fired;
  const unsure = host.inconclusive.includes(rule);
  if (!unsure && !host.quiet.includes(rule)) return undefined;
  return {
    rule,
    state: unsure ? "inconclusive" : "quiet",
    severity: "info",
    value: null,
    threshold: null,
    subject: {},
    subjects: 0,
    look: 0,
  };
}

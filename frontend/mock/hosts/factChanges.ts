/** Configuration changes of a host. */

import type { FactChange, FactChanges } from "../../src/features/hosts/api.ts";
import { HOSTS, NOW_MS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";

const HOUR_NS = 3_600e9;

/** Return the changes of facts of a host. */
export function findFactChanges(hostId: string): FactChanges | undefined {
  const host = HOSTS.find((host) => host.id === hostId);
  if (!host) return undefined;
  const now = NOW_MS * 1e6;
  const readValue = (value: string | null, hours: number, line: number) => ({
    value,
    at_ns: now - hours * HOUR_NS,
    run_id: makeId("run", host.id, 471),
    artifact_id: makeId("art", host.id, line),
    line,
  });
  const none = host.id === HOSTS[3]?.id;
  const checkedValue = (value: string, hours: number) => ({
    ...readValue(value, hours, 1),
    artifact_id: null,
    line: null,
    run_id: null,
  });
  const changes: FactChange[] = [
    {
      source: "host_facts",
      name: "sysctl.vm.swappiness",
      before: readValue("60", 9, 52),
      after: readValue("10", 5, 52),
    },
    {
      source: "mounts",
      name: "mount./var/lib/data",
      before: readValue(null, 30, 1),
      after: readValue("/dev/sdb xfs rw,noatime,logbufs=8", 26, 4),
    },
    {
      source: "preflight",
      name: "mem_bytes",
      before: checkedValue("68719476736", 400),
      after: checkedValue("137438953472", 300),
    },
  ];
  const packages: FactChanges["logged"][number] = {
    id: makeId("ev", host.id, 1),
    kind: "change_package",
    title: { key: "event.change_package", params: { count: 2, what: "upgrade openssl 3.0.15-1" } },
    detail: "",
    t_ns: now - 1.5 * HOUR_NS,
    run_id: makeId("run", host.id, 471),
    artifact_id: makeId("art", host.id, 2),
    line: 2,
  };
  return {
    host: { id: host.id, name: host.name },
    since_ns: now - 720 * HOUR_NS,
    until_ns: now,
    first_ns: none ? null : now - 500 * HOUR_NS,
    last_ns: none ? null : now - HOUR_NS,
    facts: none ? 0 : 312,
    changes: none ? [] : changes,
    changes_total: none ? 0 : changes.length,
    logged: none ? [] : [packages],
    logged_total: none ? 0 : 1,
  };
}

addRoute("GET", "/hosts/:id/changes", (_, hostId = "") => {
  const changes = findFactChanges(hostId);
  return changes ? respond(changes) : respondProblem(404, "host.not_found", "No such host.");
});

/** What changed on hosts: what people and pipelines tell, and facts that were read with two values. */

import type { Named, Sentence } from "./types";

export interface EventWhere {
  kind: "everywhere" | "hosts" | "labels" | "service";
  labels: Record<string, string> | null;
  service: string | null;
  /** The first of them; `hosts_total` counts all that one may see. */
  hosts: Named[];
  hosts_total: number;
}

export interface ToldEvent {
  id: string;
  kind: string;
  what: string;
  who: string;
  detail: string;
  link: string | null;
  at: string;
  until: string | null;
  where: EventWhere;
  external_id: string | null;
  told_by: Named;
  created_at: string;
  changed_at: string | null;
  withdrawn_at: string | null;
  may_change: boolean;
}

/** A value (null: not there) at the reading nearest to a change, and where it stands. */
export interface FactSeen {
  value: string | null;
  at_ns: number;
  run_id: string | null;
  artifact_id: string | null;
  line: number | null;
}

export interface FactChange {
  source: string;
  name: string;
  before: FactSeen;
  after: FactSeen;
}

export interface LoggedChange {
  id: string;
  kind: string;
  title: Sentence;
  detail: string;
  t_ns: number;
  run_id: string | null;
  artifact_id: string | null;
  line: number | null;
}

/** What changed on a host; `first_ns` is its first reading, before which nothing is known. */
export interface FactChanges {
  host: Named;
  since_ns: number;
  until_ns: number;
  first_ns: number | null;
  last_ns: number | null;
  facts: number;
  changes: FactChange[];
  changes_total: number;
  logged: LoggedChange[];
  logged_total: number;
}

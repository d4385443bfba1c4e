/** Events that people and pipelines tell, as the server tells them. */

import type { Named } from "./types";

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

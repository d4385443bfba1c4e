/** Storage of a platform after three months of captures. */

import { listLastDays } from "../../src/core/text/storage.ts";
import type {
  RetentionPolicy,
  Storage,
  StorageMeasurement,
  StoredKind,
} from "../../src/features/settings/api.ts";
import { STORED_KINDS } from "../../src/features/settings/api.ts";
import { CAPTURES, HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond } from "../server/routes.ts";
import { state } from "../server/state.ts";

const AT = "2026-11-21T02:14:00Z";
const MIB = 1 << 20;
const PER_DAY: Record<StoredKind, number> = {
  recordings: 420,
  texts: 160,
  imports: 12,
  profiles: 130,
  comparisons: 8,
  series: 75,
  tables: 22,
  events: 3,
};
const DAYS = listLastDays(new Date(AT), 90);

const byDay = (kind: StoredKind): Record<string, number> =>
  Object.fromEntries(
    DAYS.filter((_, i) => kind !== "recordings" || i > 59).map((day, i) => [
      day,
      Math.round(PER_DAY[kind] * MIB * (0.8 + 0.05 * ((i * 7 + kind.length) % 9))),
    ]),
  );
const days = Object.fromEntries(
  STORED_KINDS.map((kind) => [kind, byDay(kind)]),
) as StorageMeasurement["days"];
const sum = (kind: StoredKind) => Object.values(days[kind] ?? {}).reduce((a, b) => a + b, 0);

const policy = (kind: StoredKind): RetentionPolicy => ({
  kind,
  days: kind === "recordings" ? 30 : null,
  max_bytes: null,
  running: false,
  ended_at: kind === "recordings" ? AT : null,
  updated_by: kind === "recordings" ? "admin" : null,
  updated_at: kind === "recordings" ? "2026-10-01T08:00:00Z" : null,
});

const createStorage = (): Storage => ({
  store: "directory",
  disk: { total: 200 * 1024 * MIB, free: 96 * 1024 * MIB, low: false },
  measured: {
    at: AT,
    disk: { total: 200 * 1024 * MIB, free: 96 * 1024 * MIB, low: false },
    database_bytes: 9 * 1024 * MIB,
    kinds: Object.fromEntries(
      STORED_KINDS.map((kind, i) => [
        kind,
        { items: 800 * (i + 1), bytes: sum(kind), cited_bytes: Math.round(sum(kind) * 0.07 * ((i % 3) + 1)) },
      ]),
    ) as StorageMeasurement["kinds"],
    permanent: { audit: 40 * MIB, reports: 12 * MIB, answers: 700 * MIB, incidents: 90 * MIB },
    days,
    hosts: [
      ...HOSTS.slice(0, 9).map((host, i) => ({
        host_id: host.id,
        name: host.name,
        other_host_count: 0,
        kinds: Object.fromEntries(STORED_KINDS.map((kind) => [kind, Math.round((sum(kind) * (9 - i)) / 60)])),
      })),
      { host_id: null, name: "", other_host_count: 0, kinds: { imports: 300 * MIB, profiles: 90 * MIB } },
    ],
    removed: Object.fromEntries(DAYS.slice(-30).map((day) => [day, 400 * MIB])),
  },
  forecast: {
    days: 14,
    grows_per_day: 830 * MIB,
    removed_per_day: 400 * MIB,
    full_at: "2027-06-28T00:00:00Z",
  },
  checked: {
    at: AT,
    files: 41_200,
    bytes: 84 * 1024 * MIB,
    rows: 41_197,
    orphans: { count: 3, bytes: 21 * MIB, examples: [] },
    missing: { count: 0, examples: [] },
  },
  file_checks: {
    every_hours: 24,
    files: 41_197,
    oldest_at: "2026-11-20T03:40:00Z",
    altered_count: 1,
    altered: [
      {
        sha256: "5f0c1d".padEnd(64, "a7"),
        reason: "truncated",
        altered_at: "2026-11-21T01:05:00Z",
        captures: CAPTURES.slice(0, 1).map(({ id, number, plan }) => ({ id, number, plan })),
      },
    ],
  },
  policies: STORED_KINDS.map(policy),
  waiting: 120,
  pending_checks: [],
});

export const mockStorage = { storage: createStorage() };

addRoute("GET", "/storage", () =>
  respond(
    state.empty
      ? {
          ...mockStorage.storage,
          measured: null,
          forecast: null,
          checked: null,
          file_checks: { every_hours: 24, files: 0, oldest_at: null, altered_count: 0, altered: [] },
          policies: STORED_KINDS.map(policy),
        }
      : mockStorage.storage,
  ),
);
addRoute("POST", "/storage/policy/preview", ({ body }) => {
  const limited = body.days !== null || body.max_bytes !== null;
  return respond({
    kind: body.kind,
    before: limited ? "2026-10-22T02:14:00Z" : null,
    items: limited ? 1_204 : 0,
    bytes: limited ? 9_400 * MIB : 0,
    runs: limited ? 602 : 0,
    cited_items: limited ? 88 : 0,
    cited_bytes: limited ? 700 * MIB : 0,
  });
});
addRoute("PATCH", "/storage/policy", ({ body }) => {
  const policy = mockStorage.storage.policies.find((item) => item.kind === body.kind);
  if (policy) Object.assign(policy, { days: body.days, max_bytes: body.max_bytes, running: true });
  return respond(mockStorage.storage.policies);
});
addRoute("POST", "/storage/checks", ({ body }) =>
  respond({ id: makeId("look", 1), kind: body.kind, state: "done", created_at: AT, checked: null }, 202),
);
addRoute("DELETE", "/storage/orphans", () => {
  const orphans = mockStorage.storage.checked?.orphans;
  const gone = { count: orphans?.count ?? 0, bytes: orphans?.bytes ?? 0 };
  if (orphans) Object.assign(orphans, { count: 0, bytes: 0 });
  return respond(gone);
});

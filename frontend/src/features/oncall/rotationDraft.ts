import type { Rotation } from "../../client/models";
import type { RequestBody } from "../../client/paths";

type RotationBody = RequestBody<"post", "/rotations">;

export const KINDS = ["simple", "calendar", "pagerduty"] as const;
export type RotationKind = (typeof KINDS)[number];

/** Fields of the rotation form. Fields of the kinds that are not selected keep their values. */
export interface RotationDraft {
  name: string;
  kind: RotationKind;
  people: readonly string[];
  firstDay: string;
  days: number | string;
  handover: string;
  zone: string;
  url: string;
  server: string;
  token: string;
  schedules: readonly string[];
  policies: readonly string[];
  /** Account IDs by the name in the external calendar. */
  accounts: Readonly<Record<string, string>>;
}

const toTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const DAY_MS = 86_400_000;

/** Return the first day of a new rotation: yesterday in UTC, so that its first shift has begun in every time zone. */
export const defaultFirstDay = (now: Date): string =>
  new Date(now.getTime() - DAY_MS).toISOString().slice(0, 10);

export function toRotationDraft(zone: string, firstDay: string, rotation?: Rotation): RotationDraft {
  return {
    name: rotation?.name ?? "",
    kind: rotation?.kind ?? "simple",
    people: rotation?.people.map((person) => person.id) ?? [],
    firstDay: rotation?.first_day ?? firstDay,
    days: rotation?.days ?? 7,
    handover: rotation?.handover ?? "09:00",
    zone: rotation?.zone ?? zone,
    url: "",
    server: String(rotation?.source.url ?? "https://api.pagerduty.com"),
    token: "",
    schedules: toTexts(rotation?.source.schedules),
    policies: toTexts(rotation?.source.policies),
    accounts: rotation?.accounts ?? {},
  };
}

function toSource(draft: RotationDraft): RotationBody["source"] {
  if (draft.kind === "simple")
    return {
      kind: draft.kind,
      people: draft.people,
      first_day: draft.firstDay,
      days: Number(draft.days),
      handover: draft.handover,
      zone: draft.zone,
    };
  if (draft.kind === "calendar")
    return { kind: draft.kind, zone: draft.zone, ...(draft.url ? { url: draft.url.trim() } : {}) };
  return {
    kind: draft.kind,
    url: draft.server.trim(),
    schedules: draft.schedules,
    policies: draft.policies,
    ...(draft.token ? { token: draft.token.trim() } : {}),
  };
}

/** Return the request body; an empty calendar URL or token is omitted, which keeps the stored value. */
export const toRotationBody = (draft: RotationDraft): RotationBody => ({
  name: draft.name.trim(),
  source: toSource(draft),
  ...(draft.kind === "simple" ? {} : { accounts: draft.accounts }),
});

export function isRotationComplete(draft: RotationDraft, before?: Rotation): boolean {
  if (!draft.name.trim()) return false;
  if (draft.kind === "simple")
    return (
      draft.people.length > 0 && Boolean(draft.firstDay) && Number(draft.days) >= 1 && Boolean(draft.zone)
    );
  if (draft.kind === "calendar") return Boolean(draft.zone);
  return Boolean(draft.server.trim()) && (Boolean(draft.token) || before?.has_secret === true);
}

/** Return the names of shifts that match no account, sorted. */
export const listUnknownNames = (rotation: Rotation | undefined): string[] =>
  [...new Set((rotation?.shifts ?? []).filter((shift) => !shift.person).map((shift) => shift.who))].sort();

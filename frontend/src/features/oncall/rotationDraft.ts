import type { Rotation } from "../../client/schedules";

export const KINDS = ["simple", "calendar", "pagerduty"] as const;
export type RotationKind = (typeof KINDS)[number];

/** What somebody fills in for a rotation; what belongs to other kinds stays while one is chosen. */
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
  /** `name there=id of an account`, one for each. */
  accounts: Readonly<Record<string, string>>;
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

const DAY_MS = 86_400_000;

/** The day that a new rotation starts on: yesterday in UTC, so that its first shift has begun in every time zone. */
export const defaultFirstDay = (now: Date): string =>
  new Date(now.getTime() - DAY_MS).toISOString().slice(0, 10);

export function draftOf(zone: string, firstDay: string, one?: Rotation): RotationDraft {
  return {
    name: one?.name ?? "",
    kind: one?.kind ?? "simple",
    people: one?.people.map((person) => person.id) ?? [],
    firstDay: one?.first_day ?? firstDay,
    days: one?.days ?? 7,
    handover: one?.handover ?? "09:00",
    zone: one?.zone ?? zone,
    url: "",
    server: String(one?.source.url ?? "https://api.pagerduty.com"),
    token: "",
    schedules: texts(one?.source.schedules),
    policies: texts(one?.source.policies),
    accounts: one?.accounts ?? {},
  };
}

function originOf(draft: RotationDraft): Record<string, unknown> {
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

/** The body of a request; a secret that is not typed again stays as it is. */
export const bodyOf = (draft: RotationDraft, before?: Rotation): Record<string, unknown> => ({
  ...(before ? { version: before.version } : {}),
  name: draft.name.trim(),
  origin: originOf(draft),
  ...(draft.kind === "simple" ? {} : { accounts: draft.accounts }),
});

export function complete(draft: RotationDraft, before?: Rotation): boolean {
  if (!draft.name.trim()) return false;
  if (draft.kind === "simple")
    return (
      draft.people.length > 0 && Boolean(draft.firstDay) && Number(draft.days) >= 1 && Boolean(draft.zone)
    );
  if (draft.kind === "calendar") return Boolean(draft.zone);
  return Boolean(draft.server.trim()) && (Boolean(draft.token) || before?.has_secret === true);
}

/** Names that turns have and no account is known by. */
export const strangers = (rotation: Rotation | undefined): string[] =>
  [...new Set((rotation?.turns ?? []).filter((one) => !one.person).map((one) => one.who))].sort();

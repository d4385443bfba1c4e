import { NS_PER_MS } from "./range";

/** Display time zone: UTC, as in most host logs, or the zone of the browser. */
export type Zone = "utc" | "local";

const pad = (value: number, digits = 2): string => String(Math.trunc(value)).padStart(digits, "0");

interface Parts {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

function parts(date: Date, zone: Zone): Parts {
  return zone === "utc"
    ? {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
        second: date.getUTCSeconds(),
      }
    : {
        year: date.getFullYear(),
        month: date.getMonth() + 1,
        day: date.getDate(),
        hour: date.getHours(),
        minute: date.getMinutes(),
        second: date.getSeconds(),
      };
}

/** Return the number of decimals of a second for a resolution of `stepNs`, at most 6. */
export const countDecimals = (stepNs: number): number => {
  if (stepNs >= 1e9) return 0;
  return Math.min(6, Math.max(0, Math.ceil(9 - Math.log10(Math.max(stepNs, 1)) - 1e-9)));
};

/**
 * Return a time of day such as `14:02:07.250`, with the decimals of `stepNs`, at most 6. Times are rounded to
 * microseconds, because a double is exact to 256 ns.
 */
export function formatTimeOfDay(exact: number, zone: Zone, stepNs = 1e9): string {
  const micros = Math.round(exact / 1e3);
  const p = parts(new Date(Math.floor(micros / 1e3)), zone);
  const digits = countDecimals(stepNs);
  const base = `${pad(p.hour)}:${pad(p.minute)}:${pad(p.second)}`;
  return digits === 0 ? base : `${base}.${pad(micros - Math.floor(micros / 1e6) * 1e6, 6).slice(0, digits)}`;
}

export function formatDay(exact: number, zone: Zone): string {
  const p = parts(new Date(Math.floor(Math.round(exact / 1e3) / 1e3)), zone);
  return `${p.year}-${pad(p.month)}-${pad(p.day)}`;
}

/** Return a date and time such as `2026-11-21 14:02:07`, without the zone. */
export const formatInstant = (ns: number, zone: Zone, stepNs = 1e9): string =>
  `${formatDay(ns, zone)} ${formatTimeOfDay(ns, zone, stepNs)}`;

export const isoToNs = (text: string | null | undefined): number | undefined => {
  const ms = text ? Date.parse(text) : Number.NaN;
  return Number.isFinite(ms) ? ms * NS_PER_MS : undefined;
};

export interface Tick {
  readonly t: number;
  readonly label: string;
  /** Whether a larger unit starts at the tick, such as a day on an axis of hours. */
  readonly major: boolean;
}

const S = 1e9;
const STEPS: readonly number[] = [
  ...[1e4, 1e5, 1e6, 1e7, 1e8].flatMap((decade) => [decade, 2 * decade, 5 * decade]),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map(
    (s) => s * S,
  ),
  ...[2, 5, 10].map((d) => d * 86400 * S),
];

/** Return the ticks of a time axis of `width` px, at least `apart` px apart. */
export function createTimeTicks(from: number, to: number, width: number, zone: Zone, apart = 96): Tick[] {
  if (!(to > from) || width <= 0) return [];
  const least = ((to - from) * apart) / width;
  const step = STEPS.find((s) => s >= least);
  if (step === undefined) return monthTicks(from, to, least, zone);
  const offset = zone === "local" ? -new Date(from / NS_PER_MS).getTimezoneOffset() * 60 * S : 0;
  const first = Math.ceil((from + offset) / step) * step - offset;
  const out: Tick[] = [];
  for (let t = first; t <= to && out.length < 400; t += step) {
    const midnight = formatTimeOfDay(t, zone) === "00:00:00" && (t + offset) % (86400 * S) === 0;
    const label =
      step >= 86400 * S
        ? formatDay(t, zone).slice(5)
        : midnight
          ? formatDay(t, zone).slice(5)
          : step >= 60 * S
            ? formatTimeOfDay(t, zone).slice(0, 5)
            : formatTimeOfDay(t, zone, step);
    out.push({ t, label, major: midnight });
  }
  return out;
}

/** Return ticks at the first day of a month: each month or every 2, 3, 6, 12, … months. */
function monthTicks(from: number, to: number, least: number, zone: Zone): Tick[] {
  const month = 30 * 86400 * S;
  const every = [1, 2, 3, 6, 12, 24, 60].find((n) => n * month >= least) ?? 120;
  const begin = parts(new Date(Math.floor(from / NS_PER_MS)), zone);
  const out: Tick[] = [];
  for (let n = Math.floor((begin.year * 12) / every) * every; out.length < 400; n += every) {
    const year = Math.floor(n / 12);
    const at = zone === "utc" ? Date.UTC(year, n % 12) : new Date(year, n % 12).getTime();
    if (at * NS_PER_MS > to) break;
    if (at * NS_PER_MS >= from)
      out.push({ t: at * NS_PER_MS, label: `${year}-${pad((n % 12) + 1)}`, major: n % 12 === 0 });
  }
  return out;
}

/** Return the text of a time field: date and 24-hour time, with seconds. */
export const formatFieldTime = (ns: number, zone: Zone): string => formatInstant(ns, zone);

const FIELD_TIME = /^(?:(\d{4})-(\d{1,2})-(\d{1,2})[ T]+)?(\d{1,2}):(\d{2})(?::(\d{2}))?$/;

/**
 * Parse the text of a time field and return ISO 8601 in UTC, or "" if it is not a valid time. A time without a date is
 * on the day of `now` (ms). Dates that do not exist, and local times that daylight saving time skips, are not valid.
 */
export function parseFieldTime(text: string, zone: Zone, now = Date.now()): string {
  const matched = FIELD_TIME.exec(text.trim());
  if (!matched) return "";
  const [year, month, date] = matched[1] ? matched.slice(1, 4) : formatDay(now * NS_PER_MS, zone).split("-");
  const [hour, minute, second = "0"] = matched.slice(4);
  const wall = `${year}-${pad(Number(month))}-${pad(Number(date))} ${pad(Number(hour))}:${minute}:${pad(Number(second))}`;
  const ms = Date.parse(wall.replace(" ", "T") + (zone === "utc" ? "Z" : ""));
  return Number.isFinite(ms) && formatInstant(ms * NS_PER_MS, zone) === wall
    ? new Date(ms).toISOString()
    : "";
}

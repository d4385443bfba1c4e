import { useLocale } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";

const STEPS: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
];

/** Return `ms` relative to `now` as text, in the largest unit that fits (-200 s: minutes). */
export function relativeTime(ms: number, now: number, locale: string): string {
  let value = (ms - now) / 1000;
  const format = new Intl.RelativeTimeFormat(locale, { style: "short", numeric: "auto" });
  for (const [size, unit] of STEPS) {
    if (Math.abs(Math.round(value)) < size) return format.format(Math.round(value), unit);
    value /= size;
  }
  return "";
}

/** Render a time relative to now, with the exact time on hover. */
export function RelativeTime({ at }: { at: string | null | undefined }) {
  const locale = useLocale();
  const time = useTimeFormat();
  if (!at) return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={`${time.iso(at)} ${time.zoneName}`}>
      {relativeTime(Date.parse(at), Date.now(), locale)}
    </time>
  );
}

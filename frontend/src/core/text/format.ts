/** Formatting of numbers: short, with unit and at most three significant digits below 1000. */

const GROUP = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const THIN = "\u2009";
export const NO_VALUE = "–";

/** Format a number with three significant digits and no exponent; thousands are grouped. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return NO_VALUE;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1000) return GROUP.format(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return trimZeros(value.toFixed(1));
  if (size >= 1) return trimZeros(value.toFixed(2));
  if (size < 0.0005) return value < 0 ? "> -0.001" : "< 0.001";
  return trimZeros(value.toFixed(3));
}

const trimZeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

export const formatCount = (value: number): string =>
  Number.isFinite(value) ? GROUP.format(value) : NO_VALUE;

/** Format a number with an SI suffix, such as `12.3 k` or `4.5 M`. */
export function formatCompact(value: number): string {
  const size = Math.abs(value);
  for (const [limit, suffix] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e4, "k"],
  ] as const)
    if (size >= limit) return `${formatNumber(value / (limit === 1e4 ? 1e3 : limit))}${THIN}${suffix}`;
  return formatNumber(value);
}

const BYTE_STEPS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Below this, sizes that are not whole KiB are in bytes, such as a packet of 1,500 B. */
const COUNTED_BYTES = 10_000;

/** Format bytes with a binary unit (1 KiB = 1024 B). */
export function formatBytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  if (Math.abs(value) < COUNTED_BYTES && value % 1024 !== 0) return `${formatNumber(value)}${THIN}B`;
  let rest = value;
  let step = 0;
  while (Math.abs(rest) >= 1024 && step < BYTE_STEPS.length - 1) {
    rest /= 1024;
    step += 1;
  }
  return `${formatNumber(rest)}${THIN}${BYTE_STEPS[step]}`;
}

/** Format a duration in nanoseconds. */
export function formatDuration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return NO_VALUE;
  const size = Math.abs(ns);
  if (size === 0) return `0${THIN}s`;
  if (size < 1e3) return `${formatNumber(ns)}${THIN}ns`;
  if (size < 1e6) return `${formatNumber(ns / 1e3)}${THIN}µs`;
  if (size < 1e9) return `${formatNumber(ns / 1e6)}${THIN}ms`;
  if (size < 120e9) return `${formatNumber(ns / 1e9)}${THIN}s`;
  if (size < 7200e9) return twoParts(ns / 1e9, 60, "min", "s");
  if (size < 172800e9) return twoParts(ns / 60e9, 60, "h", "min");
  return twoParts(ns / 3600e9, 24, "d", "h");
}

function twoParts(value: number, base: number, big: string, small: string): string {
  const whole = Math.round(value);
  const high = Math.trunc(whole / base);
  const low = Math.abs(whole % base);
  return low === 0 ? `${high}${THIN}${big}` : `${high}${THIN}${big} ${low}${THIN}${small}`;
}

export const formatMilliseconds = (ms: number | null | undefined): string =>
  formatDuration(ms === null || ms === undefined ? undefined : ms * 1e6);

export const formatSeconds = (s: number | null | undefined): string =>
  formatDuration(s === null || s === undefined ? undefined : s * 1e9);

export function formatPercent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NO_VALUE;
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return `${value < 0 ? "> -" : "< "}0.1${THIN}%`;
  return `${Math.abs(value) >= 99.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)}${THIN}%`;
}

/** Format a value in the unit of its metric, scaled to a readable unit (bytes, times, rates). */
export function formatQuantity(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  switch (unit) {
    case "pct":
    case "percent":
    case "%":
      return `${formatNumber(value)}${THIN}%`;
    case "ratio":
      return formatPercent(value);
    case "bytes":
    case "B":
      return formatBytes(value);
    case "kb":
    case "KiB":
      return formatBytes(value * 1024);
    case "mb":
    case "MiB":
      return formatBytes(value * 1024 * 1024);
    case "bytes_per_s":
    case "B/s":
      return `${formatBytes(value)}/s`;
    case "kb_per_s":
    case "kb_s":
    case "KiB/s":
      return `${formatBytes(value * 1024)}/s`;
    case "mb_per_s":
    case "mb_s":
    case "MiB/s":
      return `${formatBytes(value * 1024 * 1024)}/s`;
    case "ns":
      return formatDuration(value);
    case "us":
    case "µs":
      return formatDuration(value * 1e3);
    case "ms":
      return formatDuration(value * 1e6);
    case "s":
      return formatDuration(value * 1e9);
    case "per_s":
    case "1/s":
    case "/s":
      return `${formatCompact(value)}/s`;
    case "packets_per_s":
      return `${formatCompact(value)}${THIN}pkt/s`;
    case "pages_per_s":
      return `${formatCompact(value)}${THIN}pages/s`;
    case "mbit_per_s":
      return value >= 1000
        ? `${formatNumber(value / 1000)}${THIN}Gbit/s`
        : `${formatNumber(value)}${THIN}Mbit/s`;
    case "mhz":
      return value >= 1000 ? `${formatNumber(value / 1000)}${THIN}GHz` : `${formatNumber(value)}${THIN}MHz`;
    case "":
    case "1":
    case "bool":
    case "count":
      return formatCompact(value);
    default:
      return `${formatCompact(value)}${THIN}${unit.replace(/_per_s$/, "/s").replaceAll("_", " ")}`;
  }
}

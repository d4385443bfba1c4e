/** Color ramps of heat maps: 256 steps from zero to the maximum, for each color scheme. */
type Rgb = readonly [number, number, number];

const DARK: readonly Rgb[] = [
  [21, 28, 36],
  [24, 62, 102],
  [35, 110, 178],
  [74, 152, 222],
  [134, 194, 242],
  [196, 226, 252],
];
const LIGHT: readonly Rgb[] = [
  [241, 244, 247],
  [196, 221, 243],
  [124, 178, 226],
  [48, 124, 196],
  [14, 73, 137],
  [38, 14, 62],
];

function buildRamp(stops: readonly Rgb[]): Uint32Array {
  const out = new Uint32Array(256);
  for (let i = 0; i < 256; i += 1) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(at));
    const f = at - k;
    const a = stops[k] as Rgb;
    const b = stops[k + 1] as Rgb;
    const mix = (j: 0 | 1 | 2) => Math.round(a[j] + (b[j] - a[j]) * f);
    out[i] = ((255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
  }
  return out;
}

const colorRamps = { dark: buildRamp(DARK), light: buildRamp(LIGHT) };

/** Return the ramp of a scheme as little-endian ABGR, the format of ImageData. */
export const getColorRamp = (scheme: "dark" | "light"): Uint32Array => colorRamps[scheme];

/** Colors of several series in a track. They do not rely on the difference between red and green. */
export const SERIES_COLORS: Record<"dark" | "light", readonly string[]> = {
  dark: ["#66b1f7", "#e8b04a", "#b69cf2", "#5cc8b4", "#e58fb8", "#a9b665", "#9aa7b5", "#d98f5c"],
  light: ["#1a6fc0", "#a86400", "#6d4bc4", "#0f7d6b", "#b0306f", "#5f7010", "#5a6470", "#9a4a12"],
};

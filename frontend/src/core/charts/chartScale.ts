/** Scales, ticks and text lengths of charts. */

/** Return the text without its middle, if it has more than `most` letters: long names often differ at their end. */
export function shortenMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(head + 1 - most)}`;
}

/** Return a host name of at most `most` letters: without its domain if it is longer, then without its middle. */
export const shortenHost = (name: string, most: number): string =>
  shortenMiddle(name.length > most ? (name.split(".", 1)[0] ?? name) : name, most);

/** Return the text shortened to the width of `most` Latin letters, with an ellipsis if something is cut off. */
export function shortenText(text: string, most: number): string {
  if (measureTextWidth(text) <= most) return text;
  let room = Math.max(0, most - 1);
  let out = "";
  for (const letter of text) {
    room -= letterWidth(letter);
    if (room < 0) break;
    out += letter;
  }
  return `${out}…`;
}

/** Return the width of a text in Latin letters. A wide letter, such as a Chinese character, counts as two. */
export const measureTextWidth = (text: string): number =>
  [...text].reduce((sum, letter) => sum + letterWidth(letter), 0);

const letterWidth = (letter: string): number =>
  /[\u1100-\u115f\u2e80-\uffdc\u{20000}-\u{3fffd}]/u.test(letter) ? 2 : 1;

/** Return about `count` ticks from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten. */
export function roundTicks(most: number, count: number): number[] {
  if (!(most > 0) || !Number.isFinite(most)) return [0];
  const rough = most / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((item) => item * power >= rough) ?? 10);
  const out: number[] = [];
  for (let i = 0; i <= Math.ceil(most / step - 1e-9); i += 1) out.push(i * step);
  return out;
}

/** Return about `count` round ticks between two times in ms. Texts have as many digits as the step needs. */
export function ticksWithin(from: number, to: number, count: number): { at: number; text: string }[] {
  const step = roundTicks(to - from, count)[1] ?? 0;
  if (!(step > 0)) return [{ at: from, text: "0 ms" }];
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const seconds = step >= 1000;
  const out: { at: number; text: string }[] = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n += 1) {
    const at = n * step;
    out.push({ at, text: seconds ? `${Number((at / 1000).toFixed(3))} s` : `${at.toFixed(digits)} ms` });
  }
  return out;
}

export interface LogScale {
  /** Return the position of a value, from 0 at the left edge to 1 at the right edge. */
  at: (value: number) => number;
  /** Powers of ten within the scale. */
  ticks: number[];
}

/** Return a logarithmic scale over positive numbers. Values outside of it are at its edges. */
export function logScale(low: number, high: number): LogScale {
  const from = Math.log10(Math.max(low, Number.MIN_VALUE));
  const to = Math.max(Math.log10(Math.max(high, Number.MIN_VALUE)), from + 1e-9);
  const at = (value: number) =>
    value > 0 ? Math.min(1, Math.max(0, (Math.log10(value) - from) / (to - from))) : 0;
  const ticks: number[] = [];
  for (let power = Math.ceil(from - 1e-9); power <= to + 1e-9 && ticks.length < 40; power += 1)
    ticks.push(10 ** power);
  return { at, ticks };
}

/** Return the relative height (0..1) of a count. It is logarithmic, so that 1 of thousands is still visible. */
export const toCountHeight = (value: number, most: number): number =>
  value > 0 && most > 0 ? Math.log1p(value) / Math.log1p(most) : 0;

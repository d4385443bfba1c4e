import { bytes } from "../text/format";

/** Return a fact as text: amounts, which are stored as plain numbers, with their unit. */
export function factText(name: string, value: string): string {
  if (!/^\d+$/.test(value)) return value;
  if (name.endsWith("_bytes")) return bytes(Number(value));
  if (name.endsWith("_kb")) return bytes(Number(value) * 1024);
  return value;
}

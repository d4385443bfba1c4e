import { formatBytes } from "../text/format";

/** Return a fact as text: amounts, which are stored as plain numbers, with their unit. */
export function factText(name: string, value: string): string {
  if (!/^\d+$/.test(value)) return value;
  if (name.endsWith("_bytes")) return formatBytes(Number(value));
  if (name.endsWith("_kb")) return formatBytes(Number(value) * 1024);
  return value;
}

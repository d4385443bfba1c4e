/** What a pin showed when it was made, as text. The server read it; its form depends on the kind of the pin. */
import { count, number, percent, quantity } from "./format";

const MOST_LINES = 4;
const MOST_CELLS = 6;

type Said = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Said => typeof value === "object" && value !== null;
const records = (value: unknown): Said[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** One line or a few; empty where there is nothing to tell. */
export function saidText(said: Said): string {
  if (said.lines !== undefined) return linesText(records(said.lines));
  if (typeof said.frame === "string")
    return [
      said.frame,
      typeof said.share === "number" ? percent(said.share) : "",
      typeof said.samples === "number" ? `n ${count(said.samples)}` : "",
    ]
      .filter(Boolean)
      .join(" · ");
  if (said.cells !== undefined) return cellsText(records(said.cells));
  if (said.lanes !== undefined) return records(said.lanes).slice(0, MOST_LINES).map(laneText).join("\n");
  if (said.left !== undefined) return [said.left, said.right].map(sideText).join(" ↔ ");
  return "";
}

function linesText(lines: readonly Said[]): string {
  const shown = lines.slice(0, MOST_LINES).map((one) => String(one.text ?? ""));
  return [...shown, ...(lines.length > MOST_LINES ? ["…"] : [])].join("\n");
}

/** A number without a unit is a name (a port, a process) and never shortened. */
const valueText = (value: unknown, unit: unknown): string =>
  typeof value === "number" && typeof unit === "string" && unit !== ""
    ? quantity(value, unit)
    : String(value ?? "–");

function cellsText(cells: readonly Said[]): string {
  const shown = cells
    .slice(0, MOST_CELLS)
    .map((one) => `${String(one.id).replaceAll("_", " ")} ${valueText(one.value, one.unit)}`);
  return [...shown, ...(cells.length > MOST_CELLS ? ["…"] : [])].join(" · ");
}

function laneText(lane: Said): string {
  const labels = isRecord(lane.labels) ? Object.values(lane.labels).join(" ") : "";
  const bounds = [lane.min, lane.mean, lane.max].map((one) => (typeof one === "number" ? number(one) : "–"));
  return `${[labels, lane.axis].filter(Boolean).join(" ")} min ${bounds[0]} · mean ${bounds[1]} · max ${bounds[2]} · n ${String(lane.n ?? "–")}`.trim();
}

const sideText = (side: unknown): string =>
  isRecord(side)
    ? [
        side.number === undefined ? side.kind : `#${String(side.number)}`,
        side.plan,
        typeof side.samples === "number" ? `n ${count(side.samples)}` : undefined,
      ]
        .filter((one) => one !== undefined)
        .map(String)
        .join(" ")
    : "–";

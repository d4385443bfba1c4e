/** Text of the snapshot of a pin. The server creates the snapshot; its fields depend on the kind of the pin. */
import { formatCount, formatNumber, formatPercent, formatQuantity } from "../text/format";

const MOST_LINES = 4;
const MOST_CELLS = 6;

type Snapshot = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Snapshot => typeof value === "object" && value !== null;
const records = (value: unknown): Snapshot[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Return the snapshot as one or a few lines of text, or "" if it has no known fields. */
export function pinText(snapshot: Snapshot): string {
  if (snapshot.lines !== undefined) return linesText(records(snapshot.lines));
  if (typeof snapshot.frame === "string")
    return [
      snapshot.frame,
      typeof snapshot.share === "number" ? formatPercent(snapshot.share) : "",
      typeof snapshot.samples === "number" ? `n ${formatCount(snapshot.samples)}` : "",
    ]
      .filter(Boolean)
      .join(" · ");
  if (snapshot.cells !== undefined) return cellsText(records(snapshot.cells));
  if (snapshot.series !== undefined)
    return records(snapshot.series).slice(0, MOST_LINES).map(seriesText).join("\n");
  if (snapshot.left !== undefined) return [snapshot.left, snapshot.right].map(sideText).join(" ↔ ");
  return "";
}

function linesText(lines: readonly Snapshot[]): string {
  const visible = lines.slice(0, MOST_LINES).map((line) => String(line.text ?? ""));
  return [...visible, ...(lines.length > MOST_LINES ? ["…"] : [])].join("\n");
}

/** Return a value as text. A number without a unit is an identifier (port, pid) and is not rounded. */
const valueText = (value: unknown, unit: unknown): string =>
  typeof value === "number" && typeof unit === "string" && unit !== ""
    ? formatQuantity(value, unit)
    : String(value ?? "–");

function cellsText(cells: readonly Snapshot[]): string {
  const visible = cells
    .slice(0, MOST_CELLS)
    .map((cell) => `${String(cell.id).replaceAll("_", " ")} ${valueText(cell.value, cell.unit)}`);
  return [...visible, ...(cells.length > MOST_CELLS ? ["…"] : [])].join(" · ");
}

function seriesText(series: Snapshot): string {
  const labels = isRecord(series.labels) ? Object.values(series.labels).join(" ") : "";
  const bounds = [series.min, series.mean, series.max].map((item) =>
    typeof item === "number" ? formatNumber(item) : "–",
  );
  return `${[labels, series.axis].filter(Boolean).join(" ")} min ${bounds[0]} · mean ${bounds[1]} · max ${bounds[2]} · n ${String(series.sample_count ?? "–")}`.trim();
}

const sideText = (side: unknown): string =>
  isRecord(side)
    ? [
        side.number === undefined ? side.kind : `#${String(side.number)}`,
        side.plan,
        typeof side.samples === "number" ? `n ${formatCount(side.samples)}` : undefined,
      ]
        .filter((item) => item !== undefined)
        .map(String)
        .join(" ")
    : "–";

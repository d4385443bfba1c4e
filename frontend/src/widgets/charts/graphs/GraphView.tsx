import { DataTable } from "../../../components/tables/DataTable";
import { shortenText } from "../../../core/charts/chartScale";
import { placeNodes } from "../../../core/charts/waits";
import { formatQuantity } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { GraphBody, GraphEdge, GraphNode } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import frame from "../charts.module.css";
import { useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import classes from "./Graph.module.css";

const BOX = { width: 196, height: 36, apart: 22 };
const LEAST_GAP = 108;
const LETTER = 6.7;
const GLYPHS: Record<GraphNode["kind"], string> = {
  thread: "M3 3h8v8h-8Z",
  lock: "M4 7V5a3 3 0 0 1 6 0v2M3 7h8v5h-8Z",
  network: "M2 7h10M9 4l3 3-3 3M5 4 2 7l3 3",
  file: "M4 2h4l3 3v7h-7ZM8 2v3h3",
  sleep: "M7 2a5 5 0 1 0 5 5M7 4v3l2 2",
  cpu: "M4 4h6v6h-6ZM7 1v3M7 10v3M1 7h3M10 7h3",
  other: "M7 2 12 7 7 12 2 7Z",
};

interface Point {
  x: number;
  y: number;
}

/** Render a wait-for graph: waiting threads left, objects of waits right. A back edge closes a cycle. */
export function GraphView({ body, label }: { body: GraphBody; label: string }) {
  const { ref, width } = useWidth();
  const arrow = useFillId();
  const { at, columns, rows, back } = placeNodes(
    body.nodes.map((node) => node.id),
    body.edges,
  );
  const gap = Math.max(
    LEAST_GAP,
    columns > 1 ? (width - columns * BOX.width - 4) / (columns - 1) : LEAST_GAP,
  );
  const span = Math.min(gap, 260);
  const wide = Math.max(1, columns) * BOX.width + Math.max(0, columns - 1) * span + 4;
  const rings = back.size;
  const height = rows * (BOX.height + BOX.apart) + rings * 22 + 10;
  const corner = (id: string): Point => {
    const { column = 0, row = 0 } = at.get(id) ?? {};
    return { x: 2 + column * (BOX.width + span), y: 6 + row * (BOX.height + BOX.apart) };
  };
  const floor = rows * (BOX.height + BOX.apart);
  const ring = [...back];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard
    <div ref={ref} className={frame.scrolls} tabIndex={0}>
      <ChartSvg width={wide} height={height} label={label}>
        <defs>
          <marker
            id={arrow}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8Z" className={classes.head} />
          </marker>
        </defs>
        {body.edges.map((edge, i) =>
          at.has(edge.source) && at.has(edge.target) ? (
            <WaitEdgePath
              key={i}
              edge={edge}
              from={corner(edge.source)}
              to={corner(edge.target)}
              below={back.has(i) ? floor + 8 + 22 * ring.indexOf(i) : undefined}
              arrow={arrow}
            />
          ) : null,
        )}
        {body.nodes.map((node) => (
          <Box key={node.id} node={node} at={corner(node.id)} />
        ))}
      </ChartSvg>
    </div>
  );
}

interface WaitProps {
  edge: GraphEdge;
  from: Point;
  to: Point;
  /** y of a back edge below all boxes; undefined for a forward edge. */
  below: number | undefined;
  arrow: string;
}

function WaitEdgePath({ edge, from, to, below, arrow }: WaitProps) {
  const localize = useLocalized();
  const start = { x: from.x + BOX.width, y: from.y + BOX.height / 2 };
  const end = { x: to.x, y: to.y + BOX.height / 2 };
  const bend = Math.min(60, Math.abs(end.x - start.x) / 2);
  const path =
    below === undefined
      ? `M${start.x} ${start.y}C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}`
      : `M${from.x + BOX.width / 2} ${from.y + BOX.height}V${below}H${to.x + BOX.width / 2 + 12}V${to.y + BOX.height + 2}`;
  // The label is in the middle, where edges from or to the same box are farthest apart.
  const text =
    below === undefined
      ? { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 - 5 }
      : { x: (from.x + to.x) / 2 + BOX.width / 2, y: below - 4 };
  return (
    <>
      <path
        d={path}
        className={classes.edge}
        data-back={below !== undefined || undefined}
        markerEnd={`url(#${arrow})`}
      />
      <ChartMark figure={edge.waited} label={localize(edge.via)}>
        <title>{localize(edge.via)}</title>
        <text className={classes.waited} x={text.x} y={text.y} textAnchor="middle">
          {formatQuantity(edge.waited.value, edge.waited.unit)}
          {edge.times && ` · ${formatQuantity(edge.times.value, "count")}×`}
        </text>
      </ChartMark>
    </>
  );
}

function Box({ node, at }: { node: GraphNode; at: Point }) {
  const localize = useLocalized();
  const name = localize(node.label);
  return (
    <g transform={`translate(${at.x} ${at.y})`}>
      <title>{name}</title>
      <rect className={classes.box} data-kind={node.kind} width={BOX.width} height={BOX.height} rx="3" />
      <path className={classes.glyph} d={GLYPHS[node.kind]} transform="translate(8 11)" />
      <text className={classes.name} x={28} y={22}>
        {shortenText(name, Math.floor((BOX.width - 34) / LETTER))}
      </text>
    </g>
  );
}

/** Render the graph as a table: a row for each wait. */
export function GraphTable({ body, label }: { body: GraphBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = new Map(body.nodes.map((node) => [node.id, localize(node.label)]));
  return (
    <DataTable label={label} stack maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.waits")}</th>
          <th>{t("visuals.for")}</th>
          <th>{t("visuals.via")}</th>
          <th className="right">{t("visuals.waited")}</th>
          <th className="right">{t("visuals.times")}</th>
        </tr>
      </thead>
      <tbody>
        {body.edges.map((edge, i) => (
          <tr key={i}>
            <td className="mono">{names.get(edge.source)}</td>
            <td className="mono">{names.get(edge.target)}</td>
            <td className="mono">{localize(edge.via)}</td>
            <td className="right num">
              <ChartValue figure={edge.waited} label={t("visuals.waited")} />
            </td>
            <td className="right num">
              <ChartValue figure={edge.times} label={t("visuals.times")} />
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

/** Pictures of what a run brought home: each has a body of one kind, which one renderer draws. */

import type { Sentence } from "../core/words";
import type { HostBody } from "./hostVisuals";

/** A name of ours in both languages, or a name from the host, which is data. */
export type VisualLabel = string | { en: string; zh: string };

export interface VisualCite {
  run: string;
  collector: string;
  artifact: string;
  part: string;
  lines: number[];
  profile: string;
  frame: string;
}

/** One number with its unit and the place that it was read from. */
export interface VisualFigure {
  value: number;
  unit: string;
  cite: VisualCite;
}

/** Numbers of one unit over time; null is no data, which is not zero. A line of 0 is not known. */
export interface VisualTrack {
  id: string;
  label: VisualLabel;
  unit: string;
  values: (number | null)[];
  lines: number[];
  cite: VisualCite;
}

export type VisualTone = "good" | "warn" | "bad" | "none";

export interface GaugesBody {
  kind: "gauges";
  value_says: VisualLabel;
  capacity_says: VisualLabel;
  rows: {
    id: string;
    label: VisualLabel;
    value: VisualFigure;
    capacity: VisualFigure | null;
    low: VisualFigure | null;
    tone: VisualTone;
    also: [VisualLabel, VisualFigure][];
  }[];
}

export interface LadderLoss {
  id: string;
  label: VisualLabel;
  /** The device, chain or listener that it is of. */
  about: string;
  rate: VisualFigure;
  total: VisualFigure | null;
  tone: "good" | "warn" | "bad";
}

export interface LadderLayer {
  id: string;
  label: VisualLabel;
  state: "good" | "warn" | "bad" | "no_data";
  losses: LadderLoss[];
  passing: VisualFigure | null;
  reason: Sentence | null;
  left_out: number;
}

export interface LadderBody {
  kind: "ladder";
  layers: LadderLayer[];
}

export interface StackedBody {
  kind: "stacked";
  unit: string;
  /** UTC milliseconds since 1970. */
  t_ms: number[];
  tracks: VisualTrack[];
}

export interface HistogramBody {
  kind: "histogram";
  unit: string;
  bins: { low: number; high: number; count: VisualFigure }[];
  bands: { low: number; high: number; label: VisualLabel; tone: VisualTone }[];
  markers: [VisualLabel, VisualFigure][];
  beside: [VisualLabel, VisualFigure, VisualTone][];
}

export interface GraphNode {
  id: string;
  label: VisualLabel;
  kind: "thread" | "lock" | "network" | "file" | "sleep" | "cpu" | "other";
  figure: VisualFigure | null;
}

export interface GraphEdge {
  source: string;
  target: string;
  via: VisualLabel;
  waited: VisualFigure;
  times: VisualFigure | null;
}

export interface GraphBody {
  kind: "graph";
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface GanttSpan {
  at_ms: number;
  ms: number;
  cls: string;
  label: string;
  line: number;
  /** A word that must not be missed: the name of an error. */
  mark: string;
}

/** A request that spans of a lane were for; `open`: its end was not seen. */
export interface GanttBracket {
  at_ms: number;
  ms: number;
  label: string;
  line: number;
  open: boolean;
}

export interface GanttLane {
  id: string;
  label: VisualLabel;
  cite: VisualCite;
  spans: GanttSpan[];
  brackets: GanttBracket[];
}

export interface GanttBody {
  kind: "gantt";
  start_ms: number;
  span_ms: number;
  classes: [string, VisualLabel][];
  lanes: GanttLane[];
}

export interface PathBody {
  kind: "path";
  hops: {
    service: string;
    operation: string;
    share: VisualFigure;
    own: VisualFigure | null;
    p50: VisualFigure | null;
    p99: VisualFigure | null;
    calls: VisualFigure | null;
    errors: VisualFigure | null;
  }[];
}

export interface StagesBody {
  kind: "stages";
  /** What one row is. */
  row_says: VisualLabel;
  columns: { id: string; label: VisualLabel; better: "more" | "less" | "none" }[];
  rows: { label: string; cells: (VisualFigure | null)[]; seconds: VisualFigure | null }[];
}

/** Further kinds are added here. */
export type VisualBody =
  | GanttBody
  | GaugesBody
  | GraphBody
  | HistogramBody
  | HostBody
  | LadderBody
  | PathBody
  | StackedBody
  | StagesBody;
export type VisualKind = VisualBody["kind"];
export type BodyOf<K extends VisualKind> = Extract<VisualBody, { kind: K }>;

export interface Visual {
  id: string;
  builder: string;
  title: { en: string; zh: string };
  /** How to read it. */
  says: { en: string; zh: string };
  subject: Record<string, string>;
  state: "ok" | "no_data";
  reason: Sentence | null;
  body: VisualBody | null;
  /** So much was not drawn because there was too much of it. */
  left_out: number;
  notes: Sentence[];
  /** The findings that it illustrates. */
  rules: string[];
  collectors: string[];
}

export interface RunVisuals {
  run_id: string;
  visuals: Visual[];
}

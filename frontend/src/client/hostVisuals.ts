/** The pictures of one host: resources, waits for a CPU, nodes of memory, disks, and the hosts beside it. */

import type { Sentence } from "../core/words";
import type { VisualCite, VisualFigure, VisualLabel, VisualTrack } from "./visuals";

export interface VisualPanel {
  id: string;
  label: VisualLabel;
  unit: string;
  look: "line" | "area" | "stack";
  /** UTC nanoseconds; every track is as long. */
  t_ns: number[];
  tracks: VisualTrack[];
  /** Of another collector, in the same unit: drawn dashed. */
  beside: VisualTrack[];
  levels: { label: VisualLabel; figure: VisualFigure }[];
}

export interface VisualMoment {
  t_ns: number;
  label: VisualLabel;
  detail: string;
  grave: boolean;
  cite: VisualCite;
}

export interface PanelsBody {
  kind: "panels";
  from_ns: number;
  to_ns: number;
  panels: VisualPanel[];
  moments: VisualMoment[];
  facts: [VisualLabel, VisualFigure][];
  parts_say: VisualLabel;
  parts: { label: VisualLabel; about: string; figure: VisualFigure }[];
}

export type UseState = "critical" | "warn" | "info" | "quiet" | "inconclusive" | "unknown";

export interface UseCell {
  letter: "utilisation" | "saturation" | "errors";
  state: UseState;
  /** Whose finding says most about it; empty where no rule was asked. */
  rule: string;
  subject: [string, string][];
  figure: VisualFigure | null;
  op: string | null;
  threshold: number | null;
  reason: Sentence | null;
  fired: number;
  said: number;
  asked: number;
}

export interface UseRow {
  id: string;
  label: VisualLabel;
  cells: UseCell[];
}

export interface UseGridBody {
  kind: "use_grid";
  rows: UseRow[];
}

export interface NumaCell {
  figure: VisualFigure | null;
  near: boolean;
  distance: number | null;
  mismatch: Sentence | null;
}

export interface NumaRow {
  /** None: CPUs of some other node than the memory is on. */
  nodes: string[];
  cells: NumaCell[];
}

export interface VisualCpuset {
  label: VisualLabel;
  about: string;
  cpus: string;
  cpu_nodes: string;
  mem_nodes: string;
  mismatch: "none" | "partial" | "disjoint";
  cite: VisualCite;
}

export interface NumaMatrixBody {
  kind: "numa_matrix";
  says: VisualLabel;
  unit: string;
  columns: string[];
  rows: NumaRow[];
  far_pct: number | null;
  cpusets: VisualCpuset[];
}

export interface VisualWaits {
  edges_us: number[];
  counts: number[];
  waits: number;
  average: VisualFigure;
  p99: VisualFigure;
  most: VisualFigure;
  lost_share: number;
}

export interface VisualRan {
  comm: string;
  pid: number;
  tid: number;
  ran: VisualFigure;
}

export interface VisualLongWait {
  comm: string;
  pid: number;
  tid: number;
  from_ns: number;
  waited: VisualFigure;
  cpu: number;
  preempted: boolean;
  instead: VisualRan[];
  others: VisualFigure | null;
}

export interface SchedLatencyBody {
  kind: "sched_latency";
  now: VisualWaits;
  before: VisualWaits | null;
  worst: VisualLongWait[];
}

export interface VisualCpuMatrix {
  vector: string;
  unit: string;
  /** [cpu][column] */
  values: (number | null)[][];
  lines: number[];
  cite: VisualCite;
  total: VisualFigure;
  most: VisualFigure;
  uneven: VisualFigure | null;
  busiest: string;
}

export interface CpuHeatBody {
  kind: "cpu_heat";
  t_ns: number[];
  step_ns: number;
  cpus: string[];
  matrices: VisualCpuMatrix[];
  busy: (VisualFigure | null)[];
}

export interface VisualDot {
  host: string;
  figure: VisualFigure;
  z: number | null;
  unlike: boolean;
  own: boolean;
}

export interface VisualStrip {
  id: string;
  label: VisualLabel;
  unit: string;
  hosts: number;
  median: number | null;
  low: number | null;
  high: number | null;
  dots: VisualDot[];
}

export interface PeerStripsBody {
  kind: "peer_strips";
  strips: VisualStrip[];
}

export type HostBody =
  | CpuHeatBody
  | NumaMatrixBody
  | PanelsBody
  | PeerStripsBody
  | SchedLatencyBody
  | UseGridBody;

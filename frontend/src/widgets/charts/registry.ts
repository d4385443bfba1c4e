/** Renderers by kind of chart. A kind without a renderer is a type error. */
import type { ComponentType } from "react";
import type { BodyOf, VisualKind } from "./api";
import { GaugesTable, GaugesView } from "./distributions/GaugesView";
import { HistogramTable, HistogramView } from "./distributions/HistogramView";
import { PeerStripsTable, PeerStripsView } from "./distributions/PeerStripsView";
import { SchedLatencyTable, SchedLatencyView } from "./distributions/SchedLatencyView";
import { GraphTable, GraphView } from "./graphs/GraphView";
import { LadderTable, LadderView } from "./graphs/LadderView";
import { PathTable, PathView } from "./graphs/PathView";
import { StagesTable, StagesView } from "./graphs/StagesView";
import { NumaMatrixTable, NumaMatrixView } from "./grids/NumaMatrixView";
import { UseGridTable, UseGridView } from "./grids/UseGridView";
import { CpuHeatTable, CpuHeatView } from "./series/CpuHeatView";
import { GanttTable, GanttView } from "./series/GanttView";
import { PanelsTable } from "./series/PanelsText";
import { PanelsView } from "./series/PanelsView";
import { StackedTable, StackedView } from "./series/StackedView";

/** Props of a chart; `label` is its accessible name. */
export interface ChartProps<K extends VisualKind> {
  body: BodyOf<K>;
  label: string;
}

/** Components of a kind of chart: the chart, and the same numbers as a table. `wide` charts use the full width. */
export interface ChartRenderer<K extends VisualKind> {
  wide?: boolean;
  View: ComponentType<ChartProps<K>>;
  Table: ComponentType<ChartProps<K>>;
}

export const CHART_RENDERERS: { [K in VisualKind]: ChartRenderer<K> } = {
  cpu_heat: { wide: true, View: CpuHeatView, Table: CpuHeatTable },
  gantt: { wide: true, View: GanttView, Table: GanttTable },
  gauges: { View: GaugesView, Table: GaugesTable },
  graph: { wide: true, View: GraphView, Table: GraphTable },
  histogram: { View: HistogramView, Table: HistogramTable },
  ladder: { wide: true, View: LadderView, Table: LadderTable },
  numa_matrix: { View: NumaMatrixView, Table: NumaMatrixTable },
  panels: { View: PanelsView, Table: PanelsTable },
  path: { View: PathView, Table: PathTable },
  peer_strips: { wide: true, View: PeerStripsView, Table: PeerStripsTable },
  sched_latency: { wide: true, View: SchedLatencyView, Table: SchedLatencyTable },
  stacked: { View: StackedView, Table: StackedTable },
  stages: { wide: true, View: StagesView, Table: StagesTable },
  use_grid: { wide: true, View: UseGridView, Table: UseGridTable },
};

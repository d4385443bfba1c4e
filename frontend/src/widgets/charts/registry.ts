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
  Picture: ComponentType<ChartProps<K>>;
  Table: ComponentType<ChartProps<K>>;
}

export const CHART_RENDERERS: { [K in VisualKind]: ChartRenderer<K> } = {
  cpu_heat: { wide: true, Picture: CpuHeatView, Table: CpuHeatTable },
  gantt: { wide: true, Picture: GanttView, Table: GanttTable },
  gauges: { Picture: GaugesView, Table: GaugesTable },
  graph: { wide: true, Picture: GraphView, Table: GraphTable },
  histogram: { Picture: HistogramView, Table: HistogramTable },
  ladder: { wide: true, Picture: LadderView, Table: LadderTable },
  numa_matrix: { Picture: NumaMatrixView, Table: NumaMatrixTable },
  panels: { Picture: PanelsView, Table: PanelsTable },
  path: { Picture: PathView, Table: PathTable },
  peer_strips: { wide: true, Picture: PeerStripsView, Table: PeerStripsTable },
  sched_latency: { wide: true, Picture: SchedLatencyView, Table: SchedLatencyTable },
  stacked: { Picture: StackedView, Table: StackedTable },
  stages: { wide: true, Picture: StagesView, Table: StagesTable },
  use_grid: { wide: true, Picture: UseGridView, Table: UseGridTable },
};

/** The renderer of each kind of chart; the types refuse a kind without one. */
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

/** `label` names the picture for those who do not see it. */
export interface ChartProps<K extends VisualKind> {
  body: BodyOf<K>;
  label: string;
}

/** A picture, and the same numbers as a table; `wide` ones take the whole width. */
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

/** Which renderer draws which kind of picture; the types refuse a kind that nobody draws. */
import type { ComponentType } from "react";
import type { BodyOf, VisualKind } from "../../client/visuals";
import { CpuHeatTable, CpuHeatView } from "./CpuHeatView";
import { GanttTable, GanttView } from "./GanttView";
import { GaugesTable, GaugesView } from "./GaugesView";
import { GraphTable, GraphView } from "./GraphView";
import { HistogramTable, HistogramView } from "./HistogramView";
import { LadderTable, LadderView } from "./LadderView";
import { NumaMatrixTable, NumaMatrixView } from "./NumaMatrixView";
import { PanelsTable } from "./PanelsText";
import { PanelsView } from "./PanelsView";
import { PathTable, PathView } from "./PathView";
import { PeerStripsTable, PeerStripsView } from "./PeerStripsView";
import { SchedLatencyTable, SchedLatencyView } from "./SchedLatencyView";
import { StackedTable, StackedView } from "./StackedView";
import { StagesTable, StagesView } from "./StagesView";
import { UseGridTable, UseGridView } from "./UseGridView";

/** `label` names the picture for those who do not see it. */
export interface Drawing<K extends VisualKind> {
  body: BodyOf<K>;
  label: string;
}

/** A picture, and the same numbers as a table; `wide` ones take the whole width. */
export interface Renderer<K extends VisualKind> {
  wide?: boolean;
  Picture: ComponentType<Drawing<K>>;
  Table: ComponentType<Drawing<K>>;
}

export const RENDERERS: { [K in VisualKind]: Renderer<K> } = {
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

"""The bodies of charts, one kind per file. `kind` identifies a body in JSON and selects its renderer."""

from __future__ import annotations

from culprit.domain.charts.bodies.cpu_heat import CpuHeat
from culprit.domain.charts.bodies.gantt import Gantt
from culprit.domain.charts.bodies.gauges import Gauges
from culprit.domain.charts.bodies.graph import Graph
from culprit.domain.charts.bodies.histogram import Histogram
from culprit.domain.charts.bodies.ladder import Ladder
from culprit.domain.charts.bodies.numa_matrix import NumaMatrix
from culprit.domain.charts.bodies.panels import Panels
from culprit.domain.charts.bodies.path import CallPath
from culprit.domain.charts.bodies.peer_strips import PeerStrips
from culprit.domain.charts.bodies.sched_latency import SchedLatency
from culprit.domain.charts.bodies.stacked import Stacked
from culprit.domain.charts.bodies.stages import Stages
from culprit.domain.charts.bodies.use_grid import UseGrid

__all__ = ["ChartBody"]

#: Further kinds are added here.
ChartBody = (
    CallPath
    | CpuHeat
    | Gantt
    | Gauges
    | Graph
    | Histogram
    | Ladder
    | NumaMatrix
    | Panels
    | PeerStrips
    | SchedLatency
    | Stacked
    | Stages
    | UseGrid
)

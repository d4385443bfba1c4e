"""The bodies of pictures, one kind per file; `kind` tells them apart on the wire and picks the renderer."""

from __future__ import annotations

from culprit.core.visuals.bodies.cpu_heat import CpuHeat
from culprit.core.visuals.bodies.gantt import Gantt
from culprit.core.visuals.bodies.gauges import Gauges
from culprit.core.visuals.bodies.graph import Graph
from culprit.core.visuals.bodies.histogram import Histogram
from culprit.core.visuals.bodies.ladder import Ladder
from culprit.core.visuals.bodies.numa_matrix import NumaMatrix
from culprit.core.visuals.bodies.panels import Panels
from culprit.core.visuals.bodies.path import CallPath
from culprit.core.visuals.bodies.peer_strips import PeerStrips
from culprit.core.visuals.bodies.sched_latency import SchedLatency
from culprit.core.visuals.bodies.stacked import Stacked
from culprit.core.visuals.bodies.stages import Stages
from culprit.core.visuals.bodies.use_grid import UseGrid

__all__ = ["Body"]

#: Further kinds are added here.
Body = (
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

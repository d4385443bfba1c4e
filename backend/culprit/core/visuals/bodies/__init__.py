"""The bodies of pictures, one kind per file; `kind` tells them apart on the wire and picks the renderer."""

from __future__ import annotations

from culprit.core.visuals.bodies.gantt import Gantt
from culprit.core.visuals.bodies.gauges import Gauges
from culprit.core.visuals.bodies.graph import Graph
from culprit.core.visuals.bodies.histogram import Histogram
from culprit.core.visuals.bodies.ladder import Ladder
from culprit.core.visuals.bodies.path import CallPath
from culprit.core.visuals.bodies.stacked import Stacked
from culprit.core.visuals.bodies.stages import Stages

__all__ = ["Body"]

#: Further kinds are added here.
Body = CallPath | Gantt | Gauges | Graph | Histogram | Ladder | Stacked | Stages

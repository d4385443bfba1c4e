"""The bodies of pictures, one kind per file; `kind` tells them apart on the wire and picks the renderer."""

from __future__ import annotations

from culprit.core.visuals.bodies.gauges import Gauges

__all__ = ["Body"]

#: Further kinds are added here.
Body = Gauges

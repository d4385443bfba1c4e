"""Numbers of rows and lanes with the place that they were read from."""

from __future__ import annotations

import math

from culprit.core.rules.view import Row
from culprit.core.visuals.bodies.figure import Figure


def figure(row: Row, name: str, unit: str) -> Figure | None:
    """A finite number of a row; None where there is none."""
    value = row.number(name)
    return None if value is None or not math.isfinite(value) else Figure(value, unit, row.cite)


def address(host: str, port: float | None) -> str:
    """`host:port`, an IPv6 address in brackets."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return shown if port is None or not math.isfinite(port) else f"{shown}:{int(port)}"

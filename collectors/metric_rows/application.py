"""Applications and services."""

from __future__ import annotations

from collectors.metric_rows.row import Metric

ROWS: tuple[Metric, ...] = ()

"""The load chart."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.domain.charts.bodies.panels import Panels
from culprit.domain.charts.catalog.cpu.load import BUILDER
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, ViewSeries


def build_series(metric: str, values: list[float]) -> ViewSeries:
    times = np.arange(len(values), dtype=np.int64) * 10**9
    citation = Citation("", "loadavg", "loadavg", "stdout")
    return ViewSeries(metric, {}, None, ("",), times, np.array([values]).T, None, citation)


def list_levels(load_per_cpu: float) -> list[float]:
    """Values of the horizontal lines of the chart for a load of 4."""
    view = HostView(
        series=[
            build_series("load.avg1", [4.0, 4.0]),
            build_series("load.avg1_per_cpu", [load_per_cpu] * 2),
            build_series("sched.runq", [3.0, 3.0]),
        ]
    )
    (chart,) = BUILDER.build(view)
    assert isinstance(chart.body, Panels)
    return [level.figure.value for panel in chart.body.panels for level in panel.levels]


@pytest.mark.parametrize("load_per_cpu", [5e-324, 0.0])
@pytest.mark.filterwarnings("error")
def test_load_chart_has_no_cpu_line_for_a_vanishing_load_per_cpu(load_per_cpu: float) -> None:
    assert list_levels(load_per_cpu) == []


def test_load_chart_draws_the_number_of_cpus() -> None:
    assert list_levels(2.0) == [2.0]

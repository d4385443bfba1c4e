"""Chart of the numbers of a host compared with its peers in the same capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from collectors.contract import Sentence, Text
from collectors.metrics.registry import METRICS
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.peer_strips import MAX_STRIPS, MAX_TOTAL_DOTS, HostStrip, PeerStrips
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.panel_series import cite_ends, drop_implausible
from culprit.domain.charts.peer_strips import build_strip
from culprit.domain.rules.view import HostView, request_view

_TITLE = Text("Compared with peers", "与同类主机相比")
#: {metric: smallest relevant step in its unit}. Of several series of a host, the greatest counts.
MEASURES: Mapping[str, float] = {
    "cpu.total_busy_pct": 1.0,
    "cpu.total_soft_pct": 0.5,
    "cpu.total_steal_pct": 0.5,
    "sched.runq_per_cpu": 0.1,
    "load.avg1_per_cpu": 0.1,
    "mem.available_pct": 1.0,
    "mem.pgmajfault_per_s": 5.0,
    "disk.util_pct": 2.0,
    "disk.w_await_ms": 0.5,
    "disk.r_await_ms": 0.5,
    "net.rx_pps": 50.0,
    "net.drop_ratio_pct": 0.05,
    "tcp.retrans_pct": 0.1,
    "tcp.listen_overflows_per_s": 0.5,
    "numa.other_node_per_s": 50.0,
    "app.requests_per_s": 1.0,
    "app.errors_pct": 0.2,
    "app.p99_ms": 2.0,
}
#: Metrics whose own title does not name their object.
NAMES: Mapping[str, Text] = {
    "disk.util_pct": Text("Disk utilization", "磁盘利用率"),
    "disk.w_await_ms": Text("Disk write latency", "磁盘写延迟"),
    "disk.r_await_ms": Text("Disk read latency", "磁盘读延迟"),
}


def _build_charts(view: HostView) -> Sequence[RunChart]:
    if all(_find_highest_mean(view, metric) is None for metric in MEASURES):
        return ()
    if not view.peers:
        return [RunChart("peers", "peers", _TITLE, state="no_data", reason=Sentence("chart.no_peers"))]
    strips = [
        item for metric, least in MEASURES.items() if (item := _build_strip(view, metric, least)) is not None
    ]
    if not strips:
        return ()
    strips.sort(key=_sort_strip, reverse=True)
    room = max(1, MAX_TOTAL_DOTS // max(len(strip.dots) for strip in strips))
    rendered_strips = tuple(strips[: min(MAX_STRIPS, room)])
    return [
        RunChart(
            "peers",
            "peers",
            _TITLE,
            body=PeerStrips(rendered_strips),
            left_out=len(strips) - len(rendered_strips),
        )
    ]


def _sort_strip(host_strip: HostStrip) -> tuple[bool, float]:
    return any(dot.unlike for dot in host_strip.dots), max(abs(dot.z or 0.0) for dot in host_strip.dots)


def _build_strip(view: HostView, metric: str, least: float) -> HostStrip | None:
    own = _find_highest_mean(view, metric)
    if own is None:
        return None
    figures = {
        name: item
        for name, peer in view.peers.items()
        if (item := _find_highest_mean(peer, metric)) is not None
    }
    about = METRICS.get(metric)
    label = NAMES.get(metric) or (about.title if about else metric)
    return build_strip(metric, label, {**figures, OWN_HOST: own}, OWN_HOST, least)


def _find_highest_mean(view: HostView, metric: str) -> Figure | None:
    """Return the mean over the capture, the greatest of several series; None without data."""
    figures: list[Figure] = []
    unit = METRICS[metric].unit if metric in METRICS else ""
    for series in view.series_of(metric):
        for values in drop_implausible(series.values).T:
            rows = np.flatnonzero(np.isfinite(values))
            if len(rows):
                figures.append(Figure(float(values[rows].mean()), unit, cite_ends(series, rows)))
    return max(figures, key=lambda figure: figure.value, default=None)


#: Key of the host of the run. No host has an empty name.
OWN_HOST = ""

BUILDER = ChartBuilder(
    id="peers",
    title=_TITLE,
    summary=Text(
        "A dot is a host, the ring the host of this run. The band is where hosts are alike. It is computed from the"
        " median and the median absolute deviation, which stay the same while up to half of the group is unhealthy.",
        "一点是一台主机，圆环是当前主机。色带内的主机彼此相似：中位数与绝对中位差，一半以内的主机异常也不会移动。",
    ),
    reads=request_view(peers=MEASURES),
    collectors=("cpu_stat",),
    rules=("F-HOST-OUTLIER",),
    build=_build_charts,
)

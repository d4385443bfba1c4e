"""Which host of a capture is unlike the others, number by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from collectors.contract import Sentence, Text
from collectors.metrics import CATALOGUE
from culprit.core.rules.view import View, reads
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.peer_strips import MAX_DOTS_OF_ALL, MAX_STRIPS, PeerStrips, Strip
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.readings import ends, told
from culprit.core.visuals.strips import strip

_TITLE = Text("Beside its peers", "与同类主机相比")
#: Metric → the smallest step that means anything, in its own unit. Of several series of a host the greatest counts.
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
#: Metrics whose own title does not say what they are of.
NAMES: Mapping[str, Text] = {
    "disk.util_pct": Text("Disk utilisation", "磁盘利用率"),
    "disk.w_await_ms": Text("Disk write latency", "磁盘写延迟"),
    "disk.r_await_ms": Text("Disk read latency", "磁盘读延迟"),
}


def _build(view: View) -> Sequence[Visual]:
    if all(_worst(view, metric) is None for metric in MEASURES):
        return ()
    if not view.twins:
        return [Visual("peers", "peers", _TITLE, state="no_data", reason=Sentence("visual.no_peers"))]
    strips = [one for metric, least in MEASURES.items() if (one := _strip(view, metric, least)) is not None]
    if not strips:
        return ()
    strips.sort(key=_most, reverse=True)
    room = max(1, MAX_DOTS_OF_ALL // max(len(one.dots) for one in strips))
    drawn = tuple(strips[: min(MAX_STRIPS, room)])
    return [Visual("peers", "peers", _TITLE, body=PeerStrips(drawn), left_out=len(strips) - len(drawn))]


def _most(one: Strip) -> tuple[bool, float]:
    return any(dot.unlike for dot in one.dots), max(abs(dot.z or 0.0) for dot in one.dots)


def _strip(view: View, metric: str, least: float) -> Strip | None:
    mine = _worst(view, metric)
    if mine is None:
        return None
    figures = {name: one for name, twin in view.twins.items() if (one := _worst(twin, metric)) is not None}
    about = CATALOGUE.get(metric)
    label = NAMES.get(metric) or (about.title if about else metric)
    return strip(metric, label, {**figures, OWN: mine}, OWN, least)


def _worst(view: View, metric: str) -> Figure | None:
    """The mean over the capture; of several series the greatest."""
    found: list[Figure] = []
    unit = CATALOGUE[metric].unit if metric in CATALOGUE else ""
    for lane in view.of(metric):
        for values in told(lane.values).T:
            rows = np.flatnonzero(np.isfinite(values))
            if len(rows):
                found.append(Figure(float(values[rows].mean()), unit, ends(lane, rows)))
    return max(found, key=lambda one: one.value, default=None)


#: The host that is asked about; no host has an empty name.
OWN = ""

BUILDER = Builder(
    id="peers",
    title=_TITLE,
    says=Text(
        "A dot is a host, the ring the one that is asked about. The band is where hosts are like each other: median"
        " and median absolute deviation, which half of the group may be sick without moving.",
        "一点是一台主机，圆环是当前主机。色带内的主机彼此相似：中位数与绝对中位差，一半以内的主机异常也不会移动。",
    ),
    reads=reads(peers=MEASURES),
    collectors=("cpu_stat",),
    rules=("F-HOST-OUTLIER",),
    build=_build,
)

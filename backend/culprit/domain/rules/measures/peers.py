"""Measures against hosts of the same kind that were captured at the same time."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.peers import score_outlier
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import Measure, MetricReading
from culprit.domain.rules.view import HostView

BUSY = MetricReading("cpu.total_busy_pct", "mean")


def _busier(view: HostView) -> Reading:
    if not view.peers:
        return MissingData(Sentence("missing.no_peers"))
    mine = take_reading(view, BUSY)
    if isinstance(mine, MissingData):
        return mine
    peers = [item.value for peer in view.peers.values() for item in _numbers(peer)]
    return [
        Measurement(
            score_outlier(item.value, peers) if item.value > max(peers, default=0.0) else 0.0,
            item.subject,
            item.citations,
            len(peers),
            detail={"busy": round(item.value, 1), "peers": len(peers)},
        )
        for item in mine
    ]


def _numbers(view: HostView) -> list[Measurement]:
    reading = take_reading(view, BUSY)
    return [] if isinstance(reading, MissingData) else list(reading)


BUSIER = Measure(
    "peer.cpu_busy_outlier",
    "count",
    Text("CPU use, in distances from its peers", "CPU 使用率与同类主机的偏离倍数"),
    (("cpu_stat",),),
    _busier,
)

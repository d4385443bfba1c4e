"""Measures against hosts of the same kind that were captured at the same time."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Measure, Measured, Missing, Over, Reading
from culprit.core.rules.peers import outlying
from culprit.core.rules.read import take
from culprit.core.rules.view import View

BUSY = Over("cpu.total_busy_pct", "mean")


def _busier(view: View) -> Reading:
    if not view.twins:
        return Missing(Sentence("missing.no_twins"))
    mine = take(view, BUSY)
    if isinstance(mine, Missing):
        return mine
    peers = [one.value for twin in view.twins.values() for one in _numbers(twin)]
    return [
        Measured(
            outlying(one.value, peers) if one.value > max(peers, default=0.0) else 0.0,
            one.subject,
            one.citations,
            len(peers),
            detail={"busy": round(one.value, 1), "peers": len(peers)},
        )
        for one in mine
    ]


def _numbers(view: View) -> list[Measured]:
    found = take(view, BUSY)
    return [] if isinstance(found, Missing) else list(found)


BUSIER = Measure(
    "peer.cpu_busy_outlier",
    "count",
    Text("CPU use, in distances from its twins", "CPU 使用率与同类主机的偏离倍数"),
    (("cpu_stat",),),
    _busier,
)

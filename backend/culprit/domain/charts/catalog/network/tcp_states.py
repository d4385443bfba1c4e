"""TCP sockets by state, reading by reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.core.rules.view import Lane, View, reads
from culprit.core.visuals.bodies.figure import Track
from culprit.core.visuals.bodies.stacked import Stacked
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.places import lines, strided

MAX_POINTS = 120
TITLE = Text("TCP sockets by state", "TCP 套接字状态")


def build(view: View) -> Sequence[Visual]:
    """One picture of the host's sockets; states that never had one are not drawn."""
    return [_visual(view, lane) for lane in view.of("tcp.state_count") if np.isfinite(lane.values).any()][:1]


def _visual(view: View, lane: Lane) -> Visual:
    rows = strided(lane.t_ns, MAX_POINTS)
    known = lines(lane)
    most = np.nan_to_num(lane.values, nan=0.0).max(axis=0)
    order = [int(at) for at in np.argsort(-most, kind="stable") if most[at] > 0]
    tracks = tuple(
        Track(
            lane.axis_values[at],
            lane.axis_values[at],
            "count",
            tuple(None if not np.isfinite(v) else float(v) for v in lane.values[rows, at]),
            tuple(int(known[row]) for row in rows),
            lane.cite,
        )
        for at in order
        if at < len(lane.axis_values)
    )
    notes = (Sentence("visual.every_nth", {"n": int(rows[1])}),) if len(rows) < len(lane.t_ns) else ()
    body = Stacked("count", tuple(float(t) / 1e6 for t in lane.t_ns[rows]), tracks)
    return Visual(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, notes=notes)


BUILDER = Builder(
    id="tcp-states",
    title=TITLE,
    says=Text(
        "Each bar is one look at all TCP sockets. Growing CLOSE-WAIT is a program that does not close; SYN-SENT are "
        "connections that nobody answers; many TIME-WAIT to one destination use up its port range.",
        "每根柱是一次对全部 TCP 套接字的查看。CLOSE-WAIT 增长说明程序没有关闭连接；SYN-SENT 是没有应答的连接；"
        "指向同一目的地的大量 TIME-WAIT 会耗尽端口范围。",
    ),
    reads=reads(metrics=["tcp.state_count"]),
    collectors=("ss",),
    rules=(
        "F-NET-PORT-EXHAUSTION", "F-NET-PORT-NONE-LEFT", "F-NET-TIMEWAIT-PRESSURE", "F-NET-CONNECT-FAILS",
        "F-NET-EADDRNOTAVAIL", "F-FLAME-INET-HASH-CONNECT", "F-APP-EPIPE", "F-TCP-CLOSE-WAIT",
    ),
    build=build,
)  # fmt: skip

"""Many small calls for each request differ from a few slow ones, and from requests that compute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import CollectorOutcome, HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_engine import build_series

RULE = RULES["F-CALLS-MANY-SMALL"]
LOG = {"pid": 7, "comm": "shop", "path": "/var/log/shop/access.log"}


def view_of_shop(
    *,
    sleeps_per_s: float,
    database_sleeps_per_s: float,
    running: float,
    requests_per_s: float,
    sent: float = 9000.0,
    peer: str = "127.0.0.1:5432",
) -> HostView:
    """Return a shop with requests in progress, a local database, and the peer that the shop sends most to."""
    view = make_view(
        process_time=[make_process(7, "shop", threads=8, run=running), make_process(9, "postgres", run=0.2)],
        thread_time=[
            make_time(7, "running", running),
            make_time(7, "accept", 6.0),
            make_time(9, "running", 0.2),
        ],
        threads=[
            {"pid": 7, "tid": 7, "comm": "shop", "voluntary_per_s": sleeps_per_s},
            {"pid": 9, "tid": 9, "comm": "postgres", "voluntary_per_s": database_sleeps_per_s},
        ],
        listeners=[
            {"pid": 9, "address": "127.0.0.1", "port": 5432},
            {"pid": 7, "address": "10.0.0.5", "port": 80},
        ],
        tcp_waits=[
            make_wait(7, "shop", "in", "80", 1.0, oldest=300),
            make_wait(7, "shop", "out", peer, 0.0, short_segments=30_000),
        ],
        answers=[LOG | {"requests": 5 * requests_per_s}],
        growing_logs=[LOG | {"seconds": 5}],
    )
    series = build_series("tcp.out_segs_per_s", *[sent] * 8, collector="snmp")
    outcomes = {name: CollectorOutcome(name, "done") for name in ("snmp", "server_logs")}
    return replace(view, outcomes={**view.outcomes, **outcomes}, series=[series])


REMOTE = {
    "sleeps_per_s": 3000, "database_sleeps_per_s": 0, "running": 0.3, "requests_per_s": 8, "peer": "10.9.9.9:5432",
}  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "state"),
    [
        ({"sleeps_per_s": 3000, "database_sleeps_per_s": 2800, "running": 0.6, "requests_per_s": 8}, "matched"),
        ({"sleeps_per_s": 3000, "database_sleeps_per_s": 60, "running": 0.6, "requests_per_s": 8}, "not_matched"),
        ({"sleeps_per_s": 60, "database_sleeps_per_s": 2800, "running": 0.6, "requests_per_s": 8}, "not_matched"),
        ({"sleeps_per_s": 3000, "database_sleeps_per_s": 2800, "running": 0.6, "requests_per_s": 400}, "not_matched"),
        ({"sleeps_per_s": 700, "database_sleeps_per_s": 700, "running": 6.0, "requests_per_s": 8}, "not_matched"),
        (REMOTE, "matched"),
        (REMOTE | {"sent": 200.0}, "not_matched"),
    ],
    ids=["calls-in-a-loop", "caller-sleeps-for-locks", "database-serves-others", "many-requests", "requests-compute",
         "remote-peer", "few-segments-are-sent"],
)  # fmt: skip
def test_many_small_calls(rates: dict[str, Any], state: str) -> None:
    findings = evaluate_rules([RULE], view_of_shop(**rates))
    assert [item.state for item in findings] == [state]

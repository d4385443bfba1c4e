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
    running: float,
    requests_per_s: float,
    sent: float = 9000.0,
    peer: str = "127.0.0.1:5432",
    others: int = 0,
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
        ],
        listeners=[
            {"pid": 9, "address": "127.0.0.1", "port": 5432},
            {"pid": 7, "address": "10.0.0.5", "port": 80},
        ],
        tcp_waits=[
            make_wait(7, "shop", "in", "80", 1.0, oldest=300),
            make_wait(7, "shop", "out", peer, 0.0, short_segments=30_000),
            make_wait(11, "jobs", "out", "127.0.0.1:5432", 0.0, short_segments=others),
        ],
        answers=[LOG | {"requests": 5 * requests_per_s}],
        growing_logs=[LOG | {"seconds": 5}],
    )
    series = build_series("tcp.out_segs_per_s", *[sent] * 8, collector="snmp")
    outcomes = {name: CollectorOutcome(name, "done") for name in ("snmp", "server_logs")}
    return replace(view, outcomes={**view.outcomes, **outcomes}, series=[series])


LOOP = {"sleeps_per_s": 3000, "running": 0.6, "requests_per_s": 8}
REMOTE = LOOP | {"peer": "10.9.9.9:5432"}


@pytest.mark.parametrize(
    ("rates", "state"),
    [
        (LOOP, "matched"),
        (LOOP | {"sent": 300}, "not_matched"),
        (LOOP | {"others": 900_000}, "not_matched"),
        (LOOP | {"sleeps_per_s": 60}, "not_matched"),
        (LOOP | {"requests_per_s": 400}, "not_matched"),
        (LOOP | {"sleeps_per_s": 700, "running": 6.0}, "not_matched"),
        (REMOTE, "matched"),
        (REMOTE | {"sent": 200}, "not_matched"),
    ],
    ids=["calls-in-a-loop", "caller-sleeps-for-locks", "database-serves-others", "caller-rarely-sleeps",
         "many-requests", "requests-compute", "remote-peer", "few-segments-are-sent"],
)  # fmt: skip
def test_many_small_calls(rates: dict[str, Any], state: str) -> None:
    findings = evaluate_rules([RULE], view_of_shop(**rates))
    assert [item.state for item in findings] == [state]

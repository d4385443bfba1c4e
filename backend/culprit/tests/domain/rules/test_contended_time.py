"""Rules about what requests share: whether more workers would help, and what waiting for a lock means."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_rank import cause as make_cause
from culprit.tests.domain.rules.test_rank import make_finding
from culprit.tests.domain.rules.test_rank import rule as make_rule
from culprit.tests.domain.rules.test_service_time_rules import rank

QUEUE_OF_WEB = {"address": "*", "port": 80, "pid": 7, "queue_min": 3}
DATABASE = [make_process(9, "postgres", threads=4)]


def full_service(
    *times: dict, database: tuple[dict, ...] = (), run: float = 0.0, wait: float = 0.0
) -> HostView:
    """A service with four busy threads before which requests queue, and perhaps a database on the same host."""
    view_of = {"process_time": [make_process(7, "web", threads=4, run=run, wait=wait)]}
    listeners = [QUEUE_OF_WEB]
    if database:
        view_of["process_time"] += DATABASE
        listeners = [QUEUE_OF_WEB, {"address": "*", "port": 5432, "pid": 9, "queue_min": 0}]
    return make_view(
        **view_of,
        thread_time=[*(item | {"pid": 7} for item in times), *(item | {"pid": 9} for item in database)],
        tcp_waits=[make_wait(7, "web", "in", "80", 5)],
        listeners=listeners,
    )


@pytest.mark.parametrize(
    ("view", "is_pool"),
    [
        (full_service(make_time(7, "peer", 4.0, "10.9.9.9:80")), True),
        (full_service(make_time(7, "lock", 4.0, "0x7f")), False),
        (full_service(run=2.0, wait=2.0), False),
        (full_service(run=4.0), True),
        (full_service(make_time(7, "peer", 4.0, "127.0.0.1:5432"), database=(make_time(9, "disk", 4.0, "vda"),)), False),
        (full_service(make_time(7, "peer", 4.0, "127.0.0.1:5432"), database=(make_time(9, "sleep", 4.0),)), True),
    ],
    ids=["remote", "lock", "no free CPU", "free CPUs", "disk of the database", "sleep of the database"],
)  # fmt: skip
def test_pool_is_too_small_only_where_more_workers_would_help(view: HostView, is_pool: bool) -> None:
    ranking = rank(view)
    assert {"F-SERVICE-QUEUES"} <= {item.rule for item in ranking.harm}
    named = {name for item in ranking.causes for name in (item.cause, *item.explains)}
    assert ("worker-pool-exhausted" in named) == is_pool
    assert ("F-TIME-POOL" in {item.rule for item in ranking.refuted}) != is_pool


def test_waiting_for_a_lock_counts_for_what_its_holder_does() -> None:
    limited = make_cause("io-limit", mechanisms=("disk",))
    rule, harm = make_rule("R", "io-limit"), make_rule("H")
    view = full_service(make_time(7, "lock", 3.0, "0x7f"), make_time(7, "disk", 1.0, "log"))
    place = (("cgroup", "/web"), ("pid", "7"))
    findings = [replace(make_finding(item), subject=place) for item in (rule, harm)]
    ranking = rank_causes(findings, {"R": rule, "H": harm}, {"io-limit": limited}, read_service_times(view))
    share = ranking.causes[0].share
    assert share is not None
    assert share.value == pytest.approx(1.0)
    assert 0.1 < share.low < 0.3 < share.high

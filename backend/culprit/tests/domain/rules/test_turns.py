"""Threads that wait for their turn wait for what the one thread that works does, as far as there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.rules.measures.cpu.turns import DISK_WITH_TURNS
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import NamedCause, rank_causes
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_rank import cause as make_cause
from culprit.tests.domain.rules.test_rank import make_finding
from culprit.tests.domain.rules.test_rank import rule as make_rule

REQUESTS = 13.0
AT_DISK = make_time(7, "disk", 0.97, "/srv/store.db", "fdatasync")


def store(*times: dict, run: float = 0.0, wait: float = 0.0) -> HostView:
    """A service with a thread for each of its requests."""
    threads = run + wait + sum(item["time_ms"] for item in times) / 8000.0
    return make_view(
        process_time=[make_process(7, "store", threads=threads, run=run, wait=wait)],
        thread_time=list(times),
        tcp_waits=[make_wait(7, "store", "in", "80", REQUESTS)],
    )


BEHIND_A_LOCK = store(AT_DISK, make_time(7, "lock", 12.0, "0x7f"))
#: On a busy host, threads are looked at seldom: OpenLDAP with 36 samples of 16 threads, one of them at the disk.
SELDOM_AT_DISK = make_time(
    7, "disk", 0.604, "/srv/data.mdb", "fdatasync", samples=1, error_ms=10778.0, exact_ms=0.0
)
LOCKED = make_time(7, "lock", 15.16, "0x7f", samples=36, error_ms=13404.6, exact_ms=12840.0)
SELDOM_SEEN = store(SELDOM_AT_DISK, LOCKED, run=0.005, wait=0.17)
HOLDER_MAY_SLEEP = store(SELDOM_AT_DISK, LOCKED, make_time(7, "sleep", 1.0), run=0.005, wait=0.17)
BEHIND_A_CONDITION = store(AT_DISK, make_time(7, "condition", 12.0, "0x7f"))
#: Requests that a timer or an event ends have a condition each.
LONG_POLLS = store(AT_DISK, *(make_time(7, "condition", 1.0, f"0x7f{at:02}") for at in range(12)))
TWO_AT_WORK = store(AT_DISK, make_time(7, "disk", 0.97, "/srv/old"), make_time(7, "lock", 36.0, "0x7f"))
RARELY_AT_WORK = store(make_time(7, "disk", 0.3, "/srv/store.db"), make_time(7, "lock", 12.0, "0x7f"))
ANOTHER_WORKS = store(
    make_time(7, "disk", 0.05, "/srv/log"),
    make_time(7, "peer", 0.95, "10.9.9.9:80"),
    make_time(7, "lock", 12.0, "0x7f"),
)


def name_slow_disk(view: HostView) -> NamedCause:
    """Return the cause that a slow disk is, of which a mechanism is the evidence."""
    rule, harm = make_rule("R", "slow-disk"), make_rule("H")
    place = (("cgroup", "/store"), ("pid", "7"))
    findings = [replace(make_finding(item), subject=place) for item in (rule, harm)]
    causes = {"slow-disk": make_cause("slow-disk", mechanisms=("disk",))}
    return rank_causes(findings, {"R": rule, "H": harm}, causes, read_service_times(view)).causes[0]


@pytest.mark.parametrize(
    "view", [BEHIND_A_LOCK, BEHIND_A_CONDITION, SELDOM_SEEN], ids=["lock", "condition", "seldom seen"]
)
def test_turns_behind_the_only_thread_at_work_are_time_at_its_disk(view: HostView) -> None:
    named = name_slow_disk(view)
    assert named.confidence == "likely"
    assert named.share is not None
    assert named.share.low > 0.6
    (measured,) = DISK_WITH_TURNS.read(view)
    assert measured.value > 75.0
    assert measured.low > 50.0


@pytest.mark.parametrize(
    "view",
    [LONG_POLLS, TWO_AT_WORK, RARELY_AT_WORK, ANOTHER_WORKS, HOLDER_MAY_SLEEP],
    ids=["long polls", "two at work", "rarely at work", "another works", "holder may sleep"],
)
def test_turns_are_not_counted_where_nothing_shows_whose_they_are(view: HostView) -> None:
    assert name_slow_disk(view).confidence == "possible"
    assert all(item.low < 33.3 for item in DISK_WITH_TURNS.read(view))

"""A line of a host's log is in every capture, and is one event on the host's timeline."""

from __future__ import annotations

import itertools
from uuid import UUID

import pytest
from culprit.evidence.timeline import queries
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.event import StoredEvent
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.ingest.store_events import (
    _NEAREST_EVENTS,
    MAX_NEIGHBORS,
    ExistingEvent,
    match_repeated_events,
    same_key,
)
from culprit.tests.support import runs
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text, update

S = 10**9
MS = 10**6
T0 = 1_790_000_000 * S
BOOT = 500 * S
OOM = b"<3>[%5d.000000] Out of memory: Killed process %d (feed)\n"


@pytest.fixture
def host(db, parsed_here):
    return runs.make_host(db)


def capture(db, host, lines: bytes, *, jitter_ns: int = 0, boot_id: str = "first", unsure_ns: int = 0):
    """Store a capture with these lines and a clock error of `jitter_ns`."""
    clock = runs.clock_now(BOOT, T0 + jitter_ns)
    clock["server_uncertainty_ns"] += unsure_ns
    waiting = runs.waiting_run(db, artifact_store(), {"kmsg": {"stdout": lines}}, host_id=host, clock=clock)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).where(Run.id == waiting.run_id).values(boot_id=boot_id))
    assert ingest_run(waiting.run_id) == "done"
    return waiting.run_id


def list_host_events(db, host) -> list[StoredEvent]:
    with db.sessions() as session:
        result, total = queries.list_events(session, host, T0 - 500 * S, T0 + 500 * S, 100)
        assert total == len(result)
        return result


def of_run(db, run_id) -> list[StoredEvent]:
    with db.sessions() as session:
        return list(
            session.scalars(
                select(StoredEvent).where(StoredEvent.run_id == run_id).order_by(StoredEvent.t_ns)
            )
        )


def test_repeated_event_is_listed_once_and_cited_by_every_run(db, config, host):
    old, new = OOM % (400, 7), OOM % (480, 8)
    first = capture(db, host, old)
    second = capture(db, host, old + new, jitter_ns=3 * MS)
    third = capture(db, host, old + new, jitter_ns=-3 * MS)
    assert [item.run_id for item in list_host_events(db, host)] == [first, second]
    assert [len(of_run(db, first)) for first in (first, second, third)] == [1, 2, 2]
    assert all(item.artifact_id for item in of_run(db, third)), "each with its own line"
    for again in (second, first, third, first):
        assert ingest_run(again, again=True) == "done"
        assert len(list_host_events(db, host)) == 2


def test_rules_count_what_two_stages_read_once(db, config, host):
    old, new = OOM % (400, 7), OOM % (480, 8)
    stages = [capture(db, host, old), capture(db, host, old + new, jitter_ns=3 * MS)]
    with db.sessions() as session:
        seen = load_view(session, artifact_store(), stages)
    kills = seen.events_of("oom_kill")
    assert len(kills) == 2
    assert {kill.citation.run for kill in kills} == {str(stages[1])}, "cited where the log was read last"


def test_repeated_event_uses_the_more_exact_clock(db, config, host):
    vague = capture(db, host, OOM % (400, 7), unsure_ns=S, jitter_ns=S // 2)
    sure = capture(db, host, OOM % (400, 7))
    assert [item.run_id for item in list_host_events(db, host)] == [sure]
    capture(db, host, OOM % (400, 7), unsure_ns=S // 2)
    assert [item.run_id for item in list_host_events(db, host)] == [sure]
    assert of_run(db, vague)[0].repeats_id == of_run(db, sure)[0].id


def test_repeated_burst_is_listed_with_its_final_count(db, config, host):
    line = b"<4>[%5d.000000] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    capture(db, host, line % 400)
    longer = capture(db, host, line % 400 + line % 430)
    (item,) = list_host_events(db, host)
    assert item.run_id == longer and item.end_ns - item.t_ns == 30 * S


def test_alike_and_not_the_same(db, config, host):
    line = b"<4>[%5d.000000] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    capture(db, host, line % 300 + line % 400, unsure_ns=200 * S)
    assert len(list_host_events(db, host)) == 2, "two lines of one log are two events"
    capture(db, host, line % 300 + line % 400, unsure_ns=200 * S, jitter_ns=60 * S)
    assert len(list_host_events(db, host)) == 2
    capture(db, host, line % 300, boot_id="second")
    assert len(list_host_events(db, host)) == 3, "another boot has a log of its own"
    capture(db, runs.make_host(db, "web2"), line % 300)
    assert len(list_host_events(db, host)) == 3


@given(
    gaps=st.lists(st.integers(100, 10_000), min_size=1, max_size=8),
    views=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(-20, 20)), max_size=6),
)
def test_repeated_events_keep_their_number(gaps, views):
    """Each capture read another part of the log, with a clock error of less than half the smallest gap."""
    real = list(itertools.accumulate(gaps))
    leaders: list[ExistingEvent] = []
    seen: set[int] = set()
    for number, (begin, length, off) in enumerate(views):
        part = range(min(begin, len(real)), min(begin + length, len(real)))
        coming = [
            ExistingEvent(UUID(int=number * 100 + i), UUID(int=number), b"k", real[i] + off, None, 20)
            for i in part
        ]
        repeats = match_repeated_events(coming, leaders)
        assert len(set(repeats.values())) == len(repeats)
        leaders = [leader for leader in [*leaders, *coming] if leader.id not in repeats]
        seen |= set(part)
    assert len(leaders) == len(seen)


def test_store_events_stays_fast_after_a_year_of_equal_lines(db, config, host):
    """Only neighbors in time are read, from one index."""
    key, new = same_key(host, "first", "oom_kill", "x"), same_key(host, "first", "oom_kill", "y")
    with db.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO event (id, host_id, t_ns, uncertainty_ns, kind, severity, title, detail, same_key)"
                " SELECT gen_random_uuid(), :host, n * 1000000000::bigint, 1, 'oom_kill', 'warn', '{}', 'x',"
                " :key FROM generate_series(1, 20000) n"
            ),
            {"host": host, "key": key},
        )
        connection.execute(text("ANALYZE event"))
        requested = {"keys": [key, key, key, new], "times": [5 * S, 9_000 * S, 19_999 * S, 10 * S]}
        plan = connection.execute(
            text(f"EXPLAIN (ANALYZE, FORMAT JSON) {_NEAREST_EVENTS.text}"), requested
        ).scalar_one()
    nodes, scans = [plan[0]["Plan"]], []
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        scans += [node] if node.get("Relation Name") == "event" else []
    assert {scan["Index Name"] for scan in scans} == {"ix_event_same"}
    assert max(scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) for scan in scans) <= MAX_NEIGHBORS

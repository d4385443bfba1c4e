"""A line of a host's log comes home with every capture, and is one event on the host's timeline."""

from __future__ import annotations

import itertools
from uuid import UUID

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Event, Run
from culprit.tests.support import runs
from culprit.timeline import queries
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.read_view import read_view
from culprit.workflows.store_events import _NEAR, NEAREST, Seen, recognise, same_key
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text, update

S = 10**9
MS = 10**6
T0 = 1_790_000_000 * S
BOOT = 500 * S
OOM = b"<3>[%5d.000000] Out of memory: Killed process %d (feed)\n"


@pytest.fixture
def host(db):
    return runs.make_host(db)


def capture(db, host, lines: bytes, *, jitter_ns: int = 0, boot_id: str = "first", unsure_ns: int = 0):
    """A capture that brings home these lines, by a clock that is off by `jitter_ns`."""
    clock = runs.clock_now(BOOT, T0 + jitter_ns)
    clock["server_uncertainty_ns"] += unsure_ns
    waiting = runs.waiting_run(db, artifact_store(), {"kmsg": {"stdout": lines}}, host_id=host, clock=clock)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).where(Run.id == waiting.run_id).values(boot_id=boot_id))
    assert ingest_run(waiting.run_id) == "done"
    return waiting.run_id


def shown(db, host) -> list[Event]:
    with db.sessions() as session:
        found, total = queries.events(session, host, T0 - 500 * S, T0 + 500 * S, 100)
        assert total == len(found)
        return found


def of_run(db, run_id) -> list[Event]:
    with db.sessions() as session:
        return list(session.scalars(select(Event).where(Event.run_id == run_id).order_by(Event.t_ns)))


def test_what_came_home_before_is_shown_once_and_cited_by_every_run(db, config, host):
    old, new = OOM % (400, 7), OOM % (480, 8)
    first = capture(db, host, old)
    second = capture(db, host, old + new, jitter_ns=3 * MS)
    third = capture(db, host, old + new, jitter_ns=-3 * MS)
    assert [one.run_id for one in shown(db, host)] == [first, second]
    assert [len(of_run(db, one)) for one in (first, second, third)] == [1, 2, 2]
    assert all(one.artifact_id for one in of_run(db, third)), "each with its own line"
    for again in (second, first, third, first):
        assert ingest_run(again, again=True) == "done"
        assert len(shown(db, host)) == 2


def test_rules_count_what_two_stages_read_once(db, config, host):
    old, new = OOM % (400, 7), OOM % (480, 8)
    stages = [capture(db, host, old), capture(db, host, old + new, jitter_ns=3 * MS)]
    with db.sessions() as session:
        seen = read_view(session, artifact_store(), stages)
    kills = seen.happened("oom_kill")
    assert len(kills) == 2
    assert {one.cite.run for one in kills} == {str(stages[1])}, "cited where the log was read last"


def test_the_better_clock_is_shown(db, config, host):
    vague = capture(db, host, OOM % (400, 7), unsure_ns=S, jitter_ns=S // 2)
    sure = capture(db, host, OOM % (400, 7))
    assert [one.run_id for one in shown(db, host)] == [sure]
    capture(db, host, OOM % (400, 7), unsure_ns=S // 2)
    assert [one.run_id for one in shown(db, host)] == [sure]
    assert of_run(db, vague)[0].repeats_id == of_run(db, sure)[0].id


def test_a_burst_that_went_on_is_shown_as_it_ended(db, config, host):
    line = b"<4>[%5d.000000] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    capture(db, host, line % 400)
    longer = capture(db, host, line % 400 + line % 430)
    (one,) = shown(db, host)
    assert one.run_id == longer and one.end_ns - one.t_ns == 30 * S


def test_alike_and_not_the_same(db, config, host):
    line = b"<4>[%5d.000000] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    capture(db, host, line % 300 + line % 400, unsure_ns=200 * S)
    assert len(shown(db, host)) == 2, "two lines of one log are two events"
    capture(db, host, line % 300 + line % 400, unsure_ns=200 * S, jitter_ns=60 * S)
    assert len(shown(db, host)) == 2
    capture(db, host, line % 300, boot_id="second")
    assert len(shown(db, host)) == 3, "another boot has a log of its own"
    capture(db, runs.make_host(db, "web2"), line % 300)
    assert len(shown(db, host)) == 3


@given(
    gaps=st.lists(st.integers(100, 10_000), min_size=1, max_size=8),
    views=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(-20, 20)), max_size=6),
)
def test_as_many_are_shown_as_really_happened(gaps, views):
    """Whatever part of the log each capture saw; its clock is off by less than half the smallest gap."""
    real = list(itertools.accumulate(gaps))
    leaders: list[Seen] = []
    seen: set[int] = set()
    for number, (begin, length, off) in enumerate(views):
        part = range(min(begin, len(real)), min(begin + length, len(real)))
        coming = [
            Seen(UUID(int=number * 100 + i), UUID(int=number), b"k", real[i] + off, None, 20) for i in part
        ]
        repeats = recognise(coming, leaders)
        assert len(set(repeats.values())) == len(repeats)
        leaders = [one for one in [*leaders, *coming] if one.id not in repeats]
        seen |= set(part)
    assert len(leaders) == len(seen)


def test_a_year_of_like_lines_costs_a_new_one_nothing(db, config, host):
    """Only the neighbours in time are read, out of one index."""
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
        asked = {"keys": [key, key, key, new], "times": [5 * S, 9_000 * S, 19_999 * S, 10 * S]}
        plan = connection.execute(text(f"EXPLAIN (ANALYZE, FORMAT JSON) {_NEAR.text}"), asked).scalar_one()
    nodes, scans = [plan[0]["Plan"]], []
    while nodes:
        node = nodes.pop()
        nodes += node.get("Plans", [])
        scans += [node] if node.get("Relation Name") == "event" else []
    assert {one["Index Name"] for one in scans} == {"ix_event_same"}
    assert max(one["Actual Rows"] + one.get("Rows Removed by Filter", 0) for one in scans) <= NEAREST

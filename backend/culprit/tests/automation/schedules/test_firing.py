"""Schedules at the moment when they are due: once each, never silently not, and only what is allowed then."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from culprit.accounts import audit
from culprit.automation.schedules import queries
from culprit.domain.scheduling import due
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.jobs.capture.session_spec import RunRefusedError, build_session_spec
from culprit.jobs.system import fire_schedules
from culprit.jobs.system.fire_schedules import start_all_due
from culprit.tests.automation.schedules.conftest import NOON
from culprit.tests.support.runs import make_host
from sqlalchemy import func, literal_column, select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

TEN = timedelta(minutes=10)


def captures(db: Database) -> list[Capture]:
    with db.sessions() as session:
        return list(session.scalars(select(Capture).order_by(Capture.number)))


def change(db: Database, what, **values) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(what).values(**values))


def fire_some(session: Session, store: ArtifactStore, by: str) -> int:
    rows = queries.lock_due_schedules(session, NOON, 10)
    fire_schedules.decide_schedules(session, store, rows, NOON, by)
    return len(rows)


def test_fire_schedules_creates_single_capture_for_owner(
    db, people, feed, make_schedule, fire, list_results
) -> None:
    make_host(db, "ads-1", {"role": "ads"})
    night = make_schedule(reason="to compare with")
    assert fire(NOON - timedelta(seconds=1)) == 0
    assert fire(NOON + timedelta(seconds=3)) == 1
    [item] = captures(db)
    assert (item.source, item.requested_by, item.reason) == (
        "schedule",
        people["oncall"].id,
        "night: to compare with",
    )
    with db.sessions() as session:
        assert list(session.scalars(select(Run.host_id))) == [feed]
        assert session.get_one(Schedule, night).next_due == NOON + TEN
        assert session.scalar(select(ScheduleFiring.capture_id)) == item.id
        assert (
            session.scalar(select(AuditEntry.actor_name).where(AuditEntry.action == "capture.create"))
            == "oncall"
        )
    assert fire(NOON + timedelta(seconds=3)) == 0
    assert list_results(night) == [("started", NOON, 1, None)]


def test_once_is_done_afterwards(db, feed, make_schedule, fire, list_results) -> None:
    once = make_schedule(kind="once", cron=None, local_time=NOON.replace(tzinfo=None))
    assert [fire(NOON), fire(NOON + TEN)] == [1, 0]
    with db.sessions() as session:
        assert session.get_one(Schedule, once).state == "done"
    assert [item[0] for item in list_results(once)] == ["started"]


@pytest.mark.parametrize("catch_up", ["one", "none"])
def test_fire_schedules_after_outage_creates_single_capture_at_most(
    db, feed, make_schedule, fire, list_results, catch_up: str
) -> None:
    night = make_schedule(catch_up=catch_up)
    late = NOON + timedelta(hours=6, minutes=9)
    fire(late)
    if catch_up == "one":
        last = NOON + timedelta(hours=6)
        assert list_results(night) == [
            ("missed", NOON, 36, "schedule.missed"), ("started", last, 1, "schedule.caught_up"),
        ]  # fmt: skip
    else:
        assert list_results(night) == [("missed", NOON, 37, "schedule.missed")]
    assert len(captures(db)) == (catch_up == "one")
    assert fire(late) == 0


def test_the_first_of_a_very_long_absence_are_recorded_too(
    db, feed, make_schedule, fire, list_results, monkeypatch
) -> None:
    monkeypatch.setattr(due, "MAX_TOGETHER", 10)
    night = make_schedule()
    assert fire(NOON + timedelta(minutes=10 * 24)) == 3
    assert [(state, count) for state, _, count, _ in list_results(night)] == [
        ("missed", 10), ("missed", 10), ("missed", 4), ("started", 1),
    ]  # fmt: skip


def test_three_schedulers_at_once_start_each_capture_once(db, feed, make_schedule, store) -> None:
    ids = [make_schedule(f"s{n}", next_due=NOON + n % 3 * TEN) for n in range(12)]
    barrier = threading.Barrier(3)

    def work(number: int) -> None:
        barrier.wait()
        for round_ in range(6):
            start_all_due(db, store, f"scheduler {number}", at=NOON + round_ * TEN)

    threads = [threading.Thread(target=work, args=[n]) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with db.sessions() as session:
        for item in ids:
            query = (
                select(ScheduleFiring)
                .where(ScheduleFiring.schedule_id == item)
                .order_by(ScheduleFiring.due_at)
            )
            rows = session.scalars(query).all()
            # Each due instant is in exactly one row: they follow each other without a hole and without an overlap.
            for row, following in pairwise(rows):
                assert following.due_at == row.last_due_at + TEN
            assert rows[-1].last_due_at == NOON + 5 * TEN
        started = session.scalar(select(func.count()).where(ScheduleFiring.state == "started"))
        assert session.scalar(select(func.count(Capture.id))) == started


def test_who_dies_in_the_middle_has_changed_nothing(
    db, feed, make_schedule, fire, store, list_results
) -> None:
    night = make_schedule()
    with pytest.raises(RuntimeError), unit_of_work(db.sessions) as session:
        fire_some(session, store, "doomed")
        raise RuntimeError
    assert captures(db) == [] and list_results(night) == []
    fire(NOON)
    assert [item[0] for item in list_results(night)] == ["started"]


def test_fire_schedules_skips_locked_schedule(db, feed, make_schedule, store) -> None:
    make_schedule()
    with unit_of_work(db.sessions) as first, unit_of_work(db.sessions) as second:
        assert fire_some(first, store, "a") == 1
        assert fire_some(second, store, "b") == 0
    assert len(captures(db)) == 1


def test_fire_schedules_checks_owner_again(db, people, feed, make_schedule, fire, list_results) -> None:
    night = make_schedule()
    change(db, UserAccount, role="investigator")
    fire(NOON)
    change(db, UserAccount, role="oncall", disabled_at=NOON)
    fire(NOON + TEN)
    change(db, UserAccount, disabled_at=None, label_scope={"role": ["ads"]})
    fire(NOON + 2 * TEN)
    assert [(state, why) for state, _, _, why in list_results(night)] == [
        ("refused", "auth.role_too_low"), ("refused", "schedule.owner_gone"), ("skipped", "schedule.no_hosts"),
    ]  # fmt: skip
    assert captures(db) == []
    with db.sessions() as session:
        assert session.scalar(select(func.count()).where(AuditEntry.action == "schedule.refused")) == 2


def test_deep_needs_an_administrator_and_ptrace_is_never_scheduled(
    db, people, feed, make_schedule, fire, list_results
) -> None:
    change(db, Host, allows_ptrace=True)
    deep = make_schedule("deep", capture={"plan": "sched"})
    scope = {"kind": "process", "value": "1"}
    ptrace = {"plan": "custom", "collectors": ["strace"], "scope": scope}
    traced = make_schedule("traced", owner="admin", capture=ptrace)
    fire(NOON)
    assert [item[0::3] for item in list_results(deep)] == [("refused", "schedule.deep_not_allowed")]
    assert [item[0::3] for item in list_results(traced)] == [("refused", "capture.ptrace_not_by_hand")]
    change(db, Schedule, deep_allowed_by=people["admin"].id)
    fire(NOON + TEN)
    assert [item[0] for item in list_results(deep)] == ["refused", "started"]
    assert [item[0] for item in list_results(traced)] == ["refused", "refused"]


def test_nothing_starts_in_maintenance(db, feed, make_schedule, fire, list_results) -> None:
    other = make_host(db, "feed-2", {"role": "feed", "dc": "ix1"})
    night = make_schedule()
    with unit_of_work(db.sessions) as session:
        for host_id, selector, at in (
            (feed, None, NOON),
            (None, {"dc": "ix1"}, NOON),
            (feed, None, NOON + TEN),
        ):
            session.add(
                MaintenanceWindow(
                    starts_at=at, ends_at=at + TEN, reason="disks", host_id=host_id, selector=selector
                )
            )
    fire(NOON)
    fire(NOON + TEN)
    fire(NOON + 2 * TEN)
    assert [item[0::3] for item in list_results(night)] == [
        ("skipped", "schedule.in_maintenance"), ("started", "schedule.hosts_left_out"), ("started", None),
    ]  # fmt: skip
    first, second = captures(db)
    with db.sessions() as session:
        hosts = {
            first.id: set(session.scalars(select(Run.host_id).where(Run.capture_id == first.id)))
            for first in (first, second)
        }
    assert hosts == {first.id: {other}, second.id: {feed, other}}


def test_maintenance_that_recurs_holds_back_at_its_times_only(
    db, feed, make_schedule, fire, list_results
) -> None:
    night = make_schedule()
    begin = NOON - timedelta(days=7)
    with unit_of_work(db.sessions) as session:
        session.add(
            MaintenanceWindow(
                starts_at=begin, reason="backup", cron="5 8,13 * * *", zone="Asia/Shanghai", minutes=20,
                selector={"role": "feed"},
            )
        )  # fmt: skip
    evening = NOON.replace(hour=23, minute=50)
    change(db, Schedule, next_due=evening)
    for step in range(6):
        fire(evening + step * TEN)
    assert [(state, why) for state, _, _, why in list_results(night)] == [
        ("started", None), ("started", None), ("skipped", "schedule.in_maintenance"),
        ("skipped", "schedule.in_maintenance"), ("started", None), ("started", None),
    ]  # fmt: skip
    with db.sessions() as session:
        query = select(ScheduleFiring.reason).where(ScheduleFiring.state == "skipped").limit(1)
        assert session.scalars(query).one()["params"]["until"] == "2031-03-02T00:25+00:00"


def test_maintenance_with_unknown_zone_covers_all_times(
    db, as_, feed, make_schedule, fire, list_results
) -> None:
    night = make_schedule()
    with unit_of_work(db.sessions) as session:
        session.add(
            MaintenanceWindow(
                starts_at=datetime(2026, 1, 1, tzinfo=UTC), reason="backup", cron="0 2 * * *", zone="Mars/Phobos",
                minutes=5,
            )
        )  # fmt: skip
    fire(NOON)
    assert [item[0::3] for item in list_results(night)] == [("skipped", "schedule.in_maintenance")]
    [displayed] = as_("viewer").get("/api/v1/maintenance-windows").json()["items"]
    assert (displayed["state"], displayed["recurs"]["zone"]) == ("active", "Mars/Phobos")


def test_a_run_that_waited_into_maintenance_does_not_start(db, people, feed, make_schedule, fire) -> None:
    make_schedule()
    fire(NOON)
    with unit_of_work(db.sessions) as session:
        run_id = session.scalars(select(Run.id)).one()
        assert build_session_spec(session, run_id).host_id == feed
        begin = func.now() - timedelta(minutes=1)
        session.add(MaintenanceWindow(starts_at=begin, ends_at=func.now() + TEN, reason="disks"))
        session.flush()
        with pytest.raises(RunRefusedError) as refused:
            build_session_spec(session, run_id)
        assert refused.value.sentence["key"] == "schedule.in_maintenance"
        session.execute(update(Capture).values(source="manual"))
        session.expire_all()
        assert build_session_spec(session, run_id).host_id == feed


def test_fire_schedules_skips_while_capture_runs(db, feed, make_schedule, fire, list_results) -> None:
    night = make_schedule()
    fire(NOON)
    fire(NOON + TEN, ended=False)
    fire(NOON + 2 * TEN)
    assert [item[0::3] for item in list_results(night)] == [
        ("started", None), ("skipped", "schedule.still_running"), ("started", None),
    ]  # fmt: skip


def test_fire_schedules_refuses_unusable_schedule_and_continues(
    db, feed, make_schedule, fire, list_results
) -> None:
    gone = make_schedule("gone", capture={"plan": "custom", "collectors": ["no_such_thing"]})
    lost = make_schedule("lost", zone="Mars/Phobos")
    fine = make_schedule("fine")
    fire(NOON)
    assert list_results(gone)[0][0::3] == ("refused", "capture.collector_unknown")
    assert list_results(lost)[0][0::3] == ("refused", "schedule.unreadable")
    assert list_results(fine)[0][0] == "started"
    with db.sessions() as session:
        assert session.get_one(Schedule, lost).state == "paused"


def test_fire_schedules_isolates_failing_schedule(
    db, feed, make_schedule, fire, list_results, monkeypatch
) -> None:
    ids = [make_schedule(f"s{n}") for n in range(7)]
    create = fire_schedules.captures.create_capture

    def faulty(session, owner, store, requested, **more):
        result = create(session, owner, store, requested, **more)
        if requested.reason == "s3":
            result.state = "no such state"  # the table refuses it, and with it all that was flushed together
        return result

    with monkeypatch.context() as broken:
        broken.setattr(fire_schedules.captures, "create_capture", faulty)
        assert fire(NOON) == 6
    assert [[item[0] for item in list_results(id_)] for id_ in ids] == [
        *[["started"]] * 3,
        [],
        *[["started"]] * 3,
    ]
    with db.sessions() as session:
        assert session.get_one(Schedule, ids[3]).next_due == NOON
        assert session.scalar(select(func.count(Capture.id))) == 6
        assert audit.verify_chain(session).broken_at is None
    fire(NOON + timedelta(minutes=1))
    assert [item[0] for item in list_results(ids[3])] == ["started"]


def test_a_broken_database_is_not_taken_for_a_broken_schedule(
    db, feed, make_schedule, fire, monkeypatch
) -> None:
    make_schedule()

    def away(*_: object, **__: object) -> None:
        raise OperationalError("SELECT", {}, Exception("away"))

    monkeypatch.setattr(queries, "lock_due_schedules", away)
    with pytest.raises(OperationalError):
        fire(NOON)


def test_fire_schedules_batches_transactions_and_audit_entries(
    db, feed, make_schedule, fire, list_results, monkeypatch
) -> None:
    monkeypatch.setattr(fire_schedules, "BATCH", 5)
    ids = [make_schedule(f"s{n}") for n in range(12)]
    assert fire(NOON) == 12
    assert all([item[0] for item in list_results(id_)] == ["started"] for id_ in ids)
    with db.sessions() as session:
        transactions = session.scalars(select(literal_column("xmin::text")).select_from(Schedule)).all()
        assert sorted(Counter(transactions).values()) == [2, 5, 5]
        assert audit.verify_chain(session).broken_at is None
        # What a worker is rung for is what was stored.
        assert session.scalar(select(func.count(Run.id))) == 12


def test_the_table_itself_refuses_a_second_row(db, feed, make_schedule, fire, list_results) -> None:
    night = make_schedule()
    fire(NOON)
    change(db, Schedule, next_due=NOON)  # as if a backup had been put back
    fire(NOON + timedelta(minutes=1))
    assert [item[0] for item in list_results(night)] == ["started"]
    assert len(captures(db)) == 1

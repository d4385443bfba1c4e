"""Claims, leases and fences on a real database with concurrent transactions."""

import threading
from datetime import timedelta

import pytest
from culprit.captures import locks as leases
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from sqlalchemy import func, update
from sqlalchemy.exc import DBAPIError


@pytest.fixture
def claim(db):
    def claim_run(run_id, worker="worker@here:1"):
        with unit_of_work(db.sessions) as session:
            return leases.claim_run(session, run_id, worker)

    return claim_run


def read(db, run_id):
    with db.sessions() as session:
        run = session.get_one(Run, run_id)
        return run, session.get_one(Capture, run.capture_id)


def change(db, run_id, **values):
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).where(Run.id == run_id).values(**values))


def test_a_claim_takes_the_run_and_moves_its_capture(db, make_run, claim):
    run_id = make_run()
    mine = claim(run_id)
    run, capture = read(db, run_id)
    assert (run.state, run.attempt, run.fence, capture.state) == ("running", 1, 1, "running")
    assert (mine.fence, mine.attempt, mine.capture_id) == (1, 1, capture.id)
    assert abs(run.lease_until - run.heartbeat_at - leases.get_lease_duration()) < timedelta(milliseconds=5)


def test_claim_run_succeeds_for_a_single_delivery_of_fifty(db, make_run, claim):
    run_id = make_run()
    got = []
    threads = [threading.Thread(target=lambda: got.append(claim(run_id))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([item for item in got if item is not None]) == 1
    assert read(db, run_id)[0].attempt == 1


def test_host_has_a_single_running_run(db, make_host, make_run, claim):
    host = make_host()
    first, second = make_run(host), make_run(host)
    assert claim(first) is not None
    assert claim(second) is None
    run, _ = read(db, second)
    assert (run.state, run.attempt, run.waiting["key"]) == ("queued", 0, "run.host_busy_here")
    assert run.not_before is not None


@pytest.mark.parametrize(
    "values",
    [
        {"not_before": func.now() + timedelta(minutes=1)},
        {"cancel_requested_at": func.now()},
        {"state": "done"},
        {"state": "ingesting"},
    ],
)
def test_what_is_not_due_cannot_be_claimed(db, make_run, claim, values):
    run_id = make_run()
    change(db, run_id, **values)
    assert claim(run_id) is None


def test_the_holder_renews_and_hears_of_a_cancellation(db, make_run, claim):
    run_id = make_run()
    mine = claim(run_id)
    with unit_of_work(db.sessions) as session:
        assert leases.renew_lease(session, mine, bytes=7).cancel_requested is False
    change(db, run_id, cancel_requested_at=func.now())
    with unit_of_work(db.sessions) as session:
        assert leases.renew_lease(session, mine).cancel_requested is True
    assert read(db, run_id)[0].bytes == 7


def test_a_stale_fence_is_refused_everywhere(db, make_run, claim):
    run_id = make_run()
    stale = claim(run_id)
    change(db, run_id, state="queued")
    fresh = claim(run_id, "worker@there:2")
    with unit_of_work(db.sessions) as session:
        assert leases.renew_lease(session, stale) is None
        assert not leases.is_owned(session, stale)
        assert not leases.finish_run(session, stale, "done")
        assert not leases.requeue_run(session, stale, timedelta(0), None)
    run, _ = read(db, run_id)
    assert (run.state, run.fence, run.worker) == ("running", fresh.fence, "worker@there:2")
    with unit_of_work(db.sessions) as session:
        assert leases.is_owned(session, fresh)


def test_leaving_ends_the_run_and_its_capture(db, make_run, claim):
    run_id = make_run()
    mine = claim(run_id)
    with unit_of_work(db.sessions) as session:
        assert leases.finish_run(session, mine, "failed", failure={"key": "x", "params": {}})
    run, capture = read(db, run_id)
    assert (run.state, capture.state) == ("failed", "failed")
    assert run.ended_at and capture.ended_at and run.lease_until is None


def test_putting_back_keeps_the_reason(db, make_run, claim):
    run_id = make_run()
    mine = claim(run_id)
    with unit_of_work(db.sessions) as session:
        leases.requeue_run(session, mine, timedelta(seconds=60), {"key": "run.host_busy", "params": {}})
    run, capture = read(db, run_id)
    assert (run.state, capture.state, run.waiting["key"]) == ("queued", "queued", "run.host_busy")
    assert claim(run_id) is None


def test_what_was_called_off_is_not_put_back(db, make_run, claim):
    run_id = make_run()
    mine = claim(run_id)
    change(db, run_id, cancel_requested_at=func.now())
    with unit_of_work(db.sessions) as session:
        assert leases.requeue_run(session, mine, timedelta(0), None) == "canceled"
        assert leases.requeue_run(session, mine, timedelta(0), None) is None, "it has ended"
    run, capture = read(db, run_id)
    assert (run.state, capture.state) == ("canceled", "canceled") and run.ended_at is not None


def test_capture_ends_with_its_last_run(db, make_run, claim):
    runs = [make_run() for _ in range(2)]
    with unit_of_work(db.sessions) as session:
        first = session.get_one(Run, runs[0])
        session.get_one(Run, runs[1]).capture_id = first.capture_id
    claims = [claim(run_id) for run_id in runs]
    barrier = threading.Barrier(2)

    def end(item):
        barrier.wait()
        with unit_of_work(db.sessions) as session:
            leases.finish_run(session, item, "done")

    threads = [threading.Thread(target=end, args=(claim,)) for claim in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(db, runs[0])[1].state == "done"


def test_runs_that_end_at_once_do_not_block_each_other(db, make_run):
    """A row changed twice in one transaction has its foreign key checked:

    each transaction then shares a lock on the capture.
    """
    runs = [make_run() for _ in range(2)]
    with unit_of_work(db.sessions) as session:
        first = session.get_one(Run, runs[0])
        session.get_one(Run, runs[1]).capture_id = first.capture_id
    barrier = threading.Barrier(2)
    broken = []

    def end(run_id):
        try:
            with unit_of_work(db.sessions) as session:
                run = session.get_one(Run, run_id)
                run.clock = {}
                session.flush()
                run.state = "done"
                session.flush()
                barrier.wait(timeout=30)
                leases.settle_capture(session, run.capture_id)
        except DBAPIError as error:
            broken.append(error)

    threads = [threading.Thread(target=end, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken
    assert read(db, runs[0])[1].state == "done"

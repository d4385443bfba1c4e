"""The sweeper on a real database and a real Valkey."""

import threading
from datetime import timedelta

import pytest
from culprit.captures import leases
from culprit.infra.progress import Publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Run
from culprit.workflows import sweep as sweeping
from culprit.workflows.doorbells import FULL_QUEUE
from redis import Redis
from sqlalchemy import func, update


@pytest.fixture
def redis(redis_url, config):
    opened = Redis.from_url(redis_url)
    opened.flushall()
    yield opened
    opened.flushall()
    opened.close()


@pytest.fixture
def publisher(redis_url):
    made = Publisher(redis_url)
    yield made
    made.close()


@pytest.fixture
def lost_run(db, make_run):
    """A run whose worker was last heard of a while ago."""

    def make(**values):
        run_id = make_run(**values)
        with unit_of_work(db.sessions) as session:
            leases.claim(session, run_id, "worker@gone:1")
        lapse(db, run_id)
        return run_id

    return make


def lapse(db, run_id, **values):
    with unit_of_work(db.sessions) as session:
        at = func.now() - timedelta(seconds=1)
        session.execute(update(Run).where(Run.id == run_id).values(lease_until=at, **values))


def read(db, run_id):
    with db.sessions() as session:
        return session.get_one(Run, run_id)


def test_a_lost_worker_puts_the_run_back_and_refuses_the_old_fence(db, redis, publisher, lost_run):
    run_id = lost_run()
    sweeping.sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.fence, run.worker_losses) == ("queued", 2, 1)
    assert run.waiting["key"] == "run.worker_lost_again"
    assert redis.llen("ssh") == 1


def test_a_living_lease_is_left_alone(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        leases.claim(session, run_id, "worker@here:1")
    sweeping.sweep(db, redis, publisher)
    assert read(db, run_id).state == "running"


def test_a_run_that_kills_its_workers_ends(db, redis, publisher, lost_run):
    run_id = lost_run()
    lapse(db, run_id, worker_losses=3)
    sweeping.sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.failure["key"], run.failure_side) == ("failed", "run.worker_lost", "worker")


def test_an_expensive_run_is_not_repeated(db, redis, publisher, lost_run):
    run_id = lost_run(collectors=("perf_sched",))
    sweeping.sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.failure["key"]) == ("failed", "run.worker_lost_expensive")


def test_a_lost_run_that_was_called_off_is_cancelled(db, redis, publisher, lost_run):
    run_id = lost_run()
    lapse(db, run_id, cancel_requested_at=func.now())
    sweeping.sweep(db, redis, publisher)
    assert read(db, run_id).state == "cancelled"


def test_what_waited_for_an_hour_expires(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(queued_at=func.now() - timedelta(hours=2)))
    sweeping.sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.failure["key"]) == ("expired", "run.expired")


def test_three_sweepers_at_once_count_a_loss_once(db, redis, publisher, lost_run):
    runs = [lost_run() for _ in range(6)]
    barrier = threading.Barrier(3)

    def work():
        barrier.wait()
        with unit_of_work(db.sessions) as session:
            sweeping.expire_leases(session, publisher)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(read(db, one).state, read(db, one).worker_losses) for one in runs} == {("queued", 1)}


def test_a_wiped_broker_is_rung_again_and_a_full_one_is_not(db, redis, publisher, make_run):
    make_run()
    sweeping.sweep(db, redis, publisher)
    sweeping.sweep(db, redis, publisher)
    assert redis.llen("ssh") == 1
    redis.flushall()
    sweeping.sweep(db, redis, publisher)
    assert redis.llen("ssh") == 1
    redis.flushall()
    redis.rpush("ssh", *range(FULL_QUEUE))
    sweeping.sweep(db, redis, publisher)
    assert redis.llen("ssh") == FULL_QUEUE


def test_without_a_broker_nothing_breaks(db, publisher, lost_run, tmp_path):
    run_id = lost_run()
    nowhere = Redis.from_url(f"unix://{tmp_path}/nothing")
    sweeping.sweep(db, nowhere, publisher)
    nowhere.close()
    assert read(db, run_id).state == "queued"


def test_runs_that_wait_are_not_rung_for_before_their_time(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        leases.wait(session, run_id, timedelta(minutes=1), {"key": "run.host_busy", "params": {}})
    sweeping.sweep(db, redis, publisher)
    assert redis.llen("ssh") == 0

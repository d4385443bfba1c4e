"""The sweep on a real database and a real Valkey."""

import threading
from datetime import timedelta

import pytest
from culprit.captures import locks as leases
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.captures.run import Run
from culprit.infra.task_queue import enqueue_job
from culprit.jobs.system import sweep as sweeping
from culprit.jobs.system.pending_jobs import FULL_QUEUE
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
    event_publisher = EventPublisher(redis_url)
    yield event_publisher
    event_publisher.close()


@pytest.fixture
def lost_run(db, make_run):
    """A run whose worker sent its last heartbeat long ago."""

    def make(**values):
        run_id = make_run(**values)
        with unit_of_work(db.sessions) as session:
            leases.claim_run(session, run_id, "worker@gone:1")
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
    sweeping.run_sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.fence, run.worker_losses) == ("queued", 2, 1)
    assert run.waiting["key"] == "run.worker_lost_again"
    assert redis.llen("ssh") == 1


def test_a_run_that_was_queued_long_ago_is_repeated_after_a_lost_worker(db, redis, publisher, lost_run):
    """The limit of an hour is for the time in the queue, not for the time since the request."""
    run_id = lost_run()
    lapse(db, run_id, queued_at=func.now() - 2 * sweeping.QUEUE_LIMIT)
    sweeping.run_sweep(db, redis, publisher)
    sweeping.run_sweep(db, redis, publisher)
    assert read(db, run_id).state == "queued"
    lapse(db, run_id, queued_at=func.now() - 2 * sweeping.QUEUE_LIMIT)
    sweeping.run_sweep(db, redis, publisher)
    assert read(db, run_id).state == "expired"


def test_a_living_lease_is_left_alone(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        leases.claim_run(session, run_id, "worker@here:1")
    sweeping.run_sweep(db, redis, publisher)
    assert read(db, run_id).state == "running"


def test_a_run_that_kills_its_workers_ends(db, redis, publisher, lost_run):
    run_id = lost_run()
    lapse(db, run_id, worker_losses=3)
    sweeping.run_sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.failure["key"], run.failure_side) == ("failed", "run.worker_lost", "worker")


def test_an_expensive_run_is_not_repeated(db, redis, publisher, lost_run):
    run_id = lost_run(collectors=("perf_sched",))
    sweeping.run_sweep(db, redis, publisher)
    run = read(db, run_id)
    assert (run.state, run.failure["key"]) == ("failed", "run.worker_lost_expensive")


def test_sweep_cancels_lost_run_with_cancel_request(db, redis, publisher, lost_run):
    run_id = lost_run()
    lapse(db, run_id, cancel_requested_at=func.now())
    sweeping.run_sweep(db, redis, publisher)
    assert read(db, run_id).state == "canceled"


def test_what_waited_for_an_hour_expires(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(queued_at=func.now() - timedelta(hours=2)))
    sweeping.run_sweep(db, redis, publisher)
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
    assert {(read(db, run).state, read(db, run).worker_losses) for run in runs} == {("queued", 1)}


def test_sweep_enqueues_again_after_broker_loss_only(db, redis, publisher, make_run):
    make_run()
    sweeping.run_sweep(db, redis, publisher)
    sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == 1
    redis.flushall()
    sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == 1
    redis.flushall()
    redis.rpush("ssh", *range(FULL_QUEUE))
    sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == FULL_QUEUE


def test_sweep_sends_no_second_message_while_the_first_waits(db, redis, publisher, make_run):
    """A queue that is not served fast enough does not fill with repetitions, which would make it slower."""
    run_ids = {make_run() for _ in range(3)}
    for run_id in run_ids:
        enqueue_job("culprit.run_capture", run_id)
    for _ in range(3):
        for key in redis.scan_iter(
            "enqueued:*"
        ):  # as if the time had passed after which a message is repeated
            redis.delete(key)
        sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == 3
    redis.lpop("ssh")
    sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == 3


def test_without_a_broker_nothing_breaks(db, publisher, lost_run, tmp_path):
    run_id = lost_run()
    nowhere = Redis.from_url(f"unix://{tmp_path}/nothing")
    sweeping.run_sweep(db, nowhere, publisher)
    nowhere.close()
    assert read(db, run_id).state == "queued"


def test_runs_that_wait_are_not_rung_for_before_their_time(db, redis, publisher, make_run):
    run_id = make_run()
    with unit_of_work(db.sessions) as session:
        leases.postpone_run(session, run_id, timedelta(minutes=1), {"key": "run.host_busy", "params": {}})
    sweeping.run_sweep(db, redis, publisher)
    assert redis.llen("ssh") == 0

"""The clock of the server is set by hours: leases hold, nothing is lost or done twice, lost workers are noticed.

PostgreSQL and Valkey run with libfaketime. The processes of the product and the hosts keep the real time.
"""

import os
import signal
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alembic import command
from culprit.captures import locks
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.jobs.ingest.queries import pending_ingests
from culprit.jobs.system.clock_steps import DatabaseClock
from culprit.jobs.system.queries import read_database_time
from culprit.jobs.system.sweep import run_sweep
from culprit.tests.conftest import alembic_config, environment, make_people
from culprit.tests.support.lab import laboratory, left_on_host
from culprit.tests.support.runs import make_host
from culprit.tests.support.stepped_clock import LIBRARY, start_engines
from redis import Redis
from sqlalchemy import func, select, update

pytestmark = [pytest.mark.long(30), pytest.mark.skipif(LIBRARY is None, reason="no faketime")]
HOUR_S = 3600
LEASE_S = 5


class SteppedPlatform:
    """A platform whose clock the test sets."""

    def __init__(self, clock, db, lab):
        self.clock, self.db, self.lab = clock, db, lab

    def add_run(self, state, **values):
        with unit_of_work(self.db.sessions) as session:
            capture = Capture(
                plan="custom", state="running", collectors=[{"id": "vmstat", "seconds": 5}], seconds=5
            )
            session.add(capture)
            session.flush()
            run = Run(capture_id=capture.id, host_id=make_host(self.db, f"host-{capture.number}"), **values)
            run.collectors = [RunCollector(collector="vmstat")]
            session.add(run)
            session.flush()
            run_id = run.id
        if state != "queued":
            with unit_of_work(self.db.sessions) as session:
                locks.claim_run(session, run_id, "worker@gone:1")
        if state == "ingesting":
            with unit_of_work(self.db.sessions) as session:
                session.execute(update(Run).where(Run.id == run_id).values(state=state, ingest_attempts=1))
        return run_id

    def load_run(self, run_id):
        with self.db.sessions() as session:
            return session.get_one(Run, run_id)

    def read_time(self):
        with self.db.sessions() as session:
            return read_database_time(session)


@pytest.fixture
def place():
    """A directory that the account of PostgreSQL can enter."""
    with tempfile.TemporaryDirectory(prefix="culprit-clock-") as directory:
        yield Path(directory)


@pytest.fixture
def stepped(place):
    with start_engines(place) as (clock, postgres, valkey):
        command.upgrade(alembic_config(postgres.url), "head")
        with (
            environment(postgres.url, valkey.url, place) as settings,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setenv("CULPRIT_LEASE_SECONDS", str(LEASE_S))
            settings.lease_seconds = LEASE_S
            db = Database(settings.sqlalchemy_url)
            with laboratory(db, make_people(db)["oncall"].actor, place) as lab:
                yield SteppedPlatform(clock, db, lab)
            db.close()


@pytest.fixture
def sweep(stepped):
    """Return a function that sweeps as the scheduler does."""
    settings_url = os.environ["REDIS_URL"]
    redis, publisher, clock = Redis.from_url(settings_url), EventPublisher(settings_url), DatabaseClock()
    yield lambda: run_sweep(stepped.db, redis, publisher, clock)
    publisher.close()
    redis.close()


@pytest.mark.parametrize("hours", [3, -3])
def test_steps_end_no_lease_and_no_waiting_run(stepped, sweep, hours):
    running, queued, parsed = (stepped.add_run(state) for state in ("running", "queued", "ingesting"))
    real = datetime.now(UTC)
    sweep()
    stepped.clock.set_ahead(hours * HOUR_S)
    assert abs(stepped.read_time() - real - timedelta(hours=hours)) < timedelta(seconds=30)
    sweep()
    now = stepped.read_time()
    run = stepped.load_run(running)
    assert (run.state, run.fence, run.worker_losses) == ("running", 1, 0)
    assert now - timedelta(seconds=1) < run.lease_until <= now + timedelta(seconds=LEASE_S)
    waiting = stepped.load_run(queued)
    assert waiting.state == "queued"
    assert now - timedelta(minutes=1) < waiting.queued_at <= now
    with stepped.db.sessions() as session:
        assert session.scalars(pending_ingests()).all() == []
    time.sleep(LEASE_S + 1)
    sweep()
    assert stepped.load_run(running).state == "queued", "a lost worker is noticed after one lease"
    with stepped.db.sessions() as session:
        assert session.scalars(pending_ingests()).all() == [parsed]


def test_pauses_and_checks_wait_no_longer_after_a_step_back(stepped, sweep):
    run_id = stepped.add_run("queued")
    with unit_of_work(stepped.db.sessions) as session:
        locks.postpone_run(session, run_id, timedelta(seconds=20), {"key": "run.host_busy", "params": {}})
    sweep()
    stepped.clock.set_ahead(-2 * HOUR_S)
    sweep()
    now = stepped.read_time()
    assert now < stepped.load_run(run_id).not_before <= now + timedelta(seconds=20)


def test_two_schedulers_move_a_step_once(stepped, sweep):
    """The second one changes nothing, also not what was written since."""
    queued = stepped.add_run("queued")
    running = stepped.add_run("running")
    other = DatabaseClock()
    with unit_of_work(stepped.db.sessions) as session:
        assert other.absorb_step(session)[0] == timedelta(0)
    sweep()
    stepped.clock.set_ahead(3 * HOUR_S)
    sweep()
    postponed = stepped.add_run("queued")
    with unit_of_work(stepped.db.sessions) as session:
        locks.postpone_run(session, postponed, timedelta(seconds=20), {"key": "run.host_busy", "params": {}})
    before = [stepped.load_run(run) for run in (queued, running, postponed)]
    with unit_of_work(stepped.db.sessions) as session:
        step, _ = other.absorb_step(session)
    assert abs(step - timedelta(hours=3)) < timedelta(seconds=2)
    for old, run in zip(before, map(stepped.load_run, (queued, running, postponed)), strict=True):
        assert (run.lease_until, run.not_before) == (old.lease_until, old.not_before)
    # The test wrote `queued_at` of the third with the real clock.
    for old, run_id in zip(before, (queued, running), strict=False):
        assert stepped.load_run(run_id).queued_at == old.queued_at


@pytest.mark.slow
def test_captures_and_schedules_survive_steps_of_hours(stepped):
    lab, db = stepped.lab, stepped.db
    host = lab.add_host(lab.sshd(), labels={"role": "feed"})
    other = lab.add_host(lab.sshd(), labels={"role": "other"})
    with unit_of_work(db.sessions) as session:
        session.add(
            Schedule(
                name="often", owner_id=lab.actor.id, kind="cron", cron="*/10 * * * *", zone="UTC",
                next_due=datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=1),
                capture={"plan": "custom", "collectors": ["vmstat"], "seconds": 1}, selector={"role": "other"},
            )
        )  # fmt: skip
    lab.scheduler()
    lab.worker("parse")
    worker = lab.worker("ssh")
    captures = [lab.capture(host, seconds=8) for _ in range(3)]
    lab.until(lambda: any(run.state == "running" for item in captures for run in lab.runs(item)), 60, "a run")
    for ahead_h in (3, -3, 0, 5):
        time.sleep(3)
        stepped.clock.set_ahead(ahead_h * HOUR_S)
    for capture in captures:
        [run] = lab.until_runs(capture, "done", "partial", "failed", "expired", "canceled", seconds=120)
        assert (run.state, run.worker_losses, run.failure) == ("done", 0, None)
        artifacts = lab.artifacts(run.id)
        assert artifacts
        assert len({(item.run_collector_id, item.part) for item in artifacts}) == len(artifacts)
        for item in artifacts:
            artifact_store().verify(item.sha256)
        assert not left_on_host(run.id)
    with db.sessions() as session:
        due = list(session.scalars(select(ScheduleFiring.due_at)))
        started = session.scalar(select(func.count()).where(ScheduleFiring.state == "started"))
        scheduled = session.scalar(select(func.count(Capture.id)).where(Capture.source == "schedule"))
    assert len(due) == len(set(due)) >= 3
    # The first is due at once. Of those that a step skips, the last one starts only if it is due for a short time.
    assert started == scheduled >= 1
    # The clock is set back while a worker is lost: another repeats the run after its lease, not after hours.
    last = lab.capture(other, seconds=8)
    lab.until(lambda: lab.run(last).state == "running", 60, "the run")
    stepped.clock.set_ahead(-2 * HOUR_S)
    worker.stop(signal.SIGKILL)
    lab.worker("ssh")
    [run] = lab.until_runs(last, "done", seconds=90)
    assert run.worker_losses == 1

"""Engines that stop during a capture, and restart."""

import hashlib
import signal
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from alembic import command
from culprit.accounts.actor import build_actor
from culprit.captures import locks as leases
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.run import Run
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import get_celery
from culprit.jobs.capture import recover_spool, run_capture
from culprit.jobs.capture.session_result import RunnerOutput, SessionResult
from culprit.jobs.capture.spool import Spool
from culprit.launcher.engines import Postgres, Valkey
from culprit.tests.conftest import alembic_config
from culprit.tests.jobs.capture.test_run_capture import NORMAL_END, running
from culprit.tests.support.lab import laboratory
from sqlalchemy.exc import OperationalError

pytestmark = pytest.mark.long(30)

CACHES = (get_settings, get_database, get_celery, artifact_store, get_event_publisher)


class Lasting:
    """An engine whose sockets have the same path after a restart."""

    def __init__(self, engine, place):
        self.engine, self.place = engine, place
        self.point()
        self.url = engine.url.replace(self.spelt(str(engine.sockets)), self.spelt(str(place)))

    def spelt(self, path):
        return quote(path, safe="") if quote(path, safe="") in self.engine.url else path

    def point(self):
        self.place.unlink(missing_ok=True)
        self.place.symlink_to(self.engine.sockets)

    def restart(self, between):
        self.engine.stop()
        between()
        self.engine.start()
        self.point()


@pytest.fixture
def engines(tmp_path):
    """Start a PostgreSQL and a Valkey that this test may kill."""
    tmp_path.chmod(0o755)
    with Postgres(tmp_path / "postgres", durable=True) as postgres, Valkey(tmp_path / "valkey") as valkey:
        command.upgrade(alembic_config(postgres.url), "head")
        with tempfile.TemporaryDirectory() as short:
            yield Lasting(postgres, Path(short) / "pg"), valkey


@pytest.fixture
def own_lab(engines, tmp_path, monkeypatch):
    postgres, valkey = engines
    environment = {
        "CULPRIT_HOME": str(tmp_path / "home"),
        "DATABASE_URL": postgres.url,
        "REDIS_URL": valkey.url,
        "CULPRIT_SECRET_KEY": "A" * 43 + "=",
    }
    (tmp_path / "home").mkdir()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for cached in CACHES:
        cached.cache_clear()
    db = Database(get_settings().sqlalchemy_url)
    with unit_of_work(db.sessions) as session:
        user = UserAccount(name="oncall", role="oncall", label_scope={})
        session.add(user)
        session.flush()
        actor = build_actor(user)
    with laboratory(db, actor, tmp_path) as result:
        yield result
    db.close()
    if get_database.cache_info().currsize:
        get_database().close()
    for cached in CACHES:
        cached.cache_clear()


def patiently(lab, check):
    """Repeat a query until the database answers."""

    def ask():
        try:
            return check()
        except OperationalError:
            return None

    return lab.until(ask, 120)


def test_the_database_restarts_in_mid_run_and_the_evidence_is_committed(own_lab, engines):
    postgres, _ = engines
    host = own_lab.add_host(own_lab.sshd())
    capture = own_lab.capture(host, collectors=("vmstat", "softirqs"), seconds=6)
    own_lab.worker()
    own_lab.scheduler()
    running(own_lab, capture)
    spool = Path(get_settings().home) / "spool"

    def meanwhile():
        own_lab.until(lambda: list(spool.glob("*/outcome.json")), 60, "the evidence in the spool")

    postgres.restart(meanwhile)
    run = patiently(own_lab, lambda: (r := own_lab.run(capture)).state in NORMAL_END and r)
    assert (run.attempt, run.worker_losses) == (1, 0)
    assert {item.state for item in own_lab.collectors(run.id).values()} == {"done"}
    own_lab.until(lambda: not list(spool.iterdir()), 20, "an empty spool")


def test_the_broker_dies_in_mid_run_and_nothing_is_lost(own_lab, engines):
    _, valkey = engines
    hosts = [own_lab.add_host(own_lab.sshd()) for _ in range(2)]
    first = own_lab.capture(hosts[0], seconds=6)
    own_lab.worker()
    own_lab.scheduler()
    running(own_lab, first)
    valkey.child.send_signal(signal.SIGKILL)
    valkey.child.wait()
    second = own_lab.capture(hosts[1], seconds=1)
    own_lab.until_runs(first, *NORMAL_END)
    own_lab.until_runs(second, *NORMAL_END)


def test_worker_that_could_not_acknowledge_its_last_message_takes_new_messages(own_lab, engines):
    """kombu kept the place of the message, so a worker with a single place took no message any more."""
    _, valkey = engines
    hosts = [own_lab.add_host(own_lab.sshd()) for _ in range(2)]
    worker = own_lab.worker(CULPRIT_SSH_CONCURRENCY="1")
    own_lab.scheduler()
    captures = [own_lab.capture(host, seconds=4) for host in hosts]
    own_lab.until(lambda: any(own_lab.run(item).progress for item in captures), 60, "a collector that runs")
    valkey.child.send_signal(signal.SIGKILL)
    valkey.child.wait()
    for capture in captures:
        own_lab.until_runs(capture, *NORMAL_END)
    own_lab.until(lambda: "Couldn't ack" in worker.log.read_text(), 30, "a message without acknowledgement")
    valkey.restart()
    own_lab.until(valkey.is_ready, 30, "the broker")
    own_lab.until_runs(own_lab.capture(hosts[0], seconds=1), *NORMAL_END, seconds=60)


def test_spooled_result_of_dead_worker_is_committed_by_next_worker(own_lab, tmp_path):
    host = own_lab.add_host(own_lab.sshd())
    runs = [own_lab.run(own_lab.capture(host)).id for _ in range(2)]
    claims = []
    for run_id in runs:
        with unit_of_work(own_lab.db.sessions) as session:
            claims.append(leases.claim_run(session, run_id, "worker@gone:1"))
            claim = claims[-1]
            spool = Spool.create(get_settings().home, run_id, claim.fence)
            data = spool.directory / "00001"
            data.write_bytes(b"procs -----------memory----------\n")
            digest = hashlib.sha256(data.read_bytes()).hexdigest()
            part = {
                "kind": "part", "id": "vmstat", "part": "stdout", "size": 34, "raw": 34, "sha256": digest,
                "encoding": "identity", "complete": True, "path": str(data),
            }  # fmt: skip
            result = SessionResult(RunnerOutput(parts=[part]))
            spool.write_outcome(
                {
                    "result": result.as_json(),
                    "clock": None,
                    "plan": {"do": "ingest"},
                    "claim": run_capture._lease_to_json(claim),
                }
            )
        with unit_of_work(own_lab.db.sessions) as session:
            if run_id == runs[0]:
                leases.finish_run(session, claim, "failed")  # continued without it: its fence is outdated
            session.flush()
    assert recover_spool.commit_spooled_results() == 1
    with own_lab.db.sessions() as session:
        assert [session.get_one(Run, run_id).state for run_id in runs] == ["failed", "ingesting"]
    assert [len(own_lab.artifacts(run_id)) for run_id in runs] == [0, 1]
    assert not list((get_settings().home / "spool").iterdir())

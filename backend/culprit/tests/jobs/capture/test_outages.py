"""Engines that go away in the middle of a capture, and come back."""

import hashlib
import signal
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from alembic import command
from culprit.auth.actor import actor_of
from culprit.captures import leases
from culprit.config import settings
from culprit.infra.artifacts import artifact_store
from culprit.infra.broker import celery
from culprit.infra.db import Database, database
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.launch.engines import Postgres, Valkey
from culprit.models import Run, UserAccount
from culprit.tests.conftest import alembic_config
from culprit.tests.support.lab import laboratory
from culprit.tests.workflows.test_run_capture import NORMAL_END, running
from culprit.workflows import recover, run_capture
from culprit.workflows.homecoming import Homecoming
from culprit.workflows.spool import Spool
from sqlalchemy.exc import OperationalError

pytestmark = pytest.mark.long(30)

CACHES = (settings, database, celery, artifact_store, publisher)


class Lasting:
    """An engine whose sockets are found at the same place after a restart."""

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
    """A PostgreSQL and a Valkey that this test may kill."""
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
    db = Database(settings().sqlalchemy_url)
    with unit_of_work(db.sessions) as session:
        user = UserAccount(name="oncall", role="oncall", label_scope={})
        session.add(user)
        session.flush()
        actor = actor_of(user)
    with laboratory(db, actor, tmp_path) as made:
        yield made
    db.close()
    if database.cache_info().currsize:
        database().close()
    for cached in CACHES:
        cached.cache_clear()


def patiently(lab, look):
    """Asks the database again until it answers."""

    def ask():
        try:
            return look()
        except OperationalError:
            return None

    return lab.until(ask, 120)


def test_the_database_restarts_in_mid_run_and_the_evidence_is_committed(own_lab, engines):
    postgres, _ = engines
    host = own_lab.enrol(own_lab.sshd())
    capture = own_lab.capture(host, collectors=("vmstat", "softirqs"), seconds=6)
    own_lab.worker()
    own_lab.scheduler()
    running(own_lab, capture)
    spool = Path(settings().home) / "spool"

    def meanwhile():
        own_lab.until(lambda: list(spool.glob("*/outcome.json")), 60, "the evidence in the spool")

    postgres.restart(meanwhile)
    run = patiently(own_lab, lambda: (r := own_lab.run(capture)).state in NORMAL_END and r)
    assert (run.attempt, run.worker_losses) == (1, 0)
    assert {one.state for one in own_lab.collectors(run.id).values()} == {"done"}
    own_lab.until(lambda: not list(spool.iterdir()), 20, "an empty spool")


def test_the_broker_dies_in_mid_run_and_nothing_is_lost(own_lab, engines):
    _, valkey = engines
    hosts = [own_lab.enrol(own_lab.sshd()) for _ in range(2)]
    first = own_lab.capture(hosts[0], seconds=6)
    own_lab.worker()
    own_lab.scheduler()
    running(own_lab, first)
    valkey.child.send_signal(signal.SIGKILL)
    valkey.child.wait()
    second = own_lab.capture(hosts[1], seconds=1)
    own_lab.until_runs(first, *NORMAL_END)
    own_lab.until_runs(second, *NORMAL_END)


def test_evidence_of_a_dead_worker_is_committed_by_the_next_one(own_lab, tmp_path):
    host = own_lab.enrol(own_lab.sshd())
    runs = [own_lab.run(own_lab.capture(host)).id for _ in range(2)]
    claims = []
    for run_id in runs:
        with unit_of_work(own_lab.db.sessions) as session:
            claims.append(leases.claim(session, run_id, "worker@gone:1"))
            claim = claims[-1]
            spool = Spool.of(settings().home, run_id, claim.fence)
            data = spool.directory / "00001"
            data.write_bytes(b"procs -----------memory----------\n")
            digest = hashlib.sha256(data.read_bytes()).hexdigest()
            part = {
                "kind": "part", "id": "vmstat", "part": "stdout", "size": 34, "raw": 34, "sha256": digest,
                "encoding": "identity", "complete": True, "path": str(data),
            }  # fmt: skip
            home = Homecoming(parts=[part])
            spool.keep(
                {
                    "home": home.as_json(),
                    "clock": None,
                    "plan": {"do": "ingest"},
                    "claim": run_capture._claim_json(claim),
                }
            )
        with unit_of_work(own_lab.db.sessions) as session:
            if run_id == runs[0]:
                leases.leave(session, claim, "failed")  # went on without it: its fence is stale
            session.flush()
    assert recover.recover() == 1
    with own_lab.db.sessions() as session:
        assert [session.get_one(Run, run_id).state for run_id in runs] == ["failed", "ingesting"]
    assert [len(own_lab.artifacts(run_id)) for run_id in runs] == [0, 1]
    assert not list((settings().home / "spool").iterdir())

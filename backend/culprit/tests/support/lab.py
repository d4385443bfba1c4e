"""A platform in processes of its own, and hosts that it may capture."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from culprit.captures import service
from culprit.captures.schemas import CaptureCreate, ScopeGiven
from culprit.config import REPOSITORY, settings
from culprit.hosts.credentials import seal
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database
from culprit.infra.progress import Publisher
from culprit.infra.secrets import vault
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import Artifact, Capture, Credential, Host, NetworkRule, Run, RunCollector
from culprit.tests.support.sshd import Sshd, sshd
from sqlalchemy import select

LOG_TAIL = 6000


@dataclass
class Lab:
    """One database with hosts, and the processes that work on it."""

    db: Database
    actor: object
    directory: Path
    stack: ExitStack
    processes: list[subprocess.Popen] = field(default_factory=list)
    count: int = 0

    def sshd(self, **options) -> Sshd:
        self.count += 1
        return self.stack.enter_context(sshd(self.directory / f"sshd-{self.count}", **options))

    def enrol(self, server: Sshd, name: str = "", **values):
        self.count += 1
        name = name or f"lab-{self.count}"
        with unit_of_work(self.db.sessions) as session:
            if session.scalar(select(NetworkRule.id).limit(1)) is None:
                session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
            credential = Credential(id=uuid7(), name=f"key of {name}", kind="key", public={})
            seal(credential, {"secret": server.client_key}, vault())
            session.add(credential)
            session.flush()
            key = values.pop("host_key", server.host_key)
            host = Host(
                name=name,
                address=server.address,
                port=server.port,
                username=server.username,
                credential_id=credential.id,
                host_key_type=key.type,
                host_key=key.blob,
                host_key_fingerprint=key.fingerprint,
                **{"labels": {}, "max_silence_s": 30, **values},
            )
            session.add(host)
            session.flush()
            return host.id

    def capture(
        self, *hosts, plan="custom", seconds=3, collectors=("vmstat",), actor=None, lengths=None, scope=None
    ):
        with unit_of_work(self.db.sessions) as session:
            wanted = CaptureCreate(
                host_ids=list(hosts),
                plan=plan,
                seconds=seconds,
                collectors=list(collectors) if collectors else None,
                reason="test",
                scope=ScopeGiven(**(scope or {})),
            )
            made = service.create(session, actor or self.actor, artifact_store(), wanted)
            if lengths:
                made.collectors = [{"id": name, "seconds": lengths[name]} for name in collectors]
            return made.id

    def cancel(self, capture_id):
        publisher = Publisher(settings().redis_url)
        with unit_of_work(self.db.sessions) as session:
            service.cancel(session, self.actor, publisher, capture_id)
        publisher.close()

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        log = (self.directory / f"{'-'.join(arguments).replace('.', '_')}-{len(self.processes)}.log").open(
            "wb"
        )
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": f"{REPOSITORY}/backend:{REPOSITORY}", **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process.log = Path(log.name)
        self.processes.append(process)
        return process

    def worker(self, kind: str = "ssh", **environment: str) -> subprocess.Popen:
        return self.start("culprit.worker", kind, **environment)

    def scheduler(self) -> subprocess.Popen:
        return self.start("culprit.scheduler")

    def logs(self) -> str:
        return "\n".join(
            f"== {p.log.name} rc={p.poll()}\n{p.log.read_text()[-LOG_TAIL:]}" for p in self.processes
        )

    def runs(self, capture_id) -> list[Run]:
        with self.db.sessions() as session:
            return list(session.scalars(select(Run).where(Run.capture_id == capture_id).order_by(Run.id)))

    def run(self, capture_id) -> Run:
        [run] = self.runs(capture_id)
        return run

    def state(self, capture_id) -> str:
        with self.db.sessions() as session:
            return session.get_one(Capture, capture_id).state

    def collectors(self, run_id) -> dict[str, RunCollector]:
        with self.db.sessions() as session:
            rows = session.scalars(select(RunCollector).where(RunCollector.run_id == run_id))
            return {row.collector: row for row in rows}

    def artifacts(self, run_id) -> list[Artifact]:
        with self.db.sessions() as session:
            return list(
                session.scalars(select(Artifact).where(Artifact.run_id == run_id).order_by(Artifact.id))
            )

    def until(self, condition, seconds: float = 60, what: str = ""):
        """Waits until `condition()` is true and returns it; the limit is only there to end a broken test."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what or 'condition'} not met in {seconds} s\n{self.logs()}")

    def until_runs(self, capture_id, *states: str, seconds: float = 90):
        def all_there():
            return all(run.state in states for run in self.runs(capture_id))

        try:
            self.until(all_there, seconds)
        except AssertionError as error:
            found = [(run.state, run.waiting, run.failure, run.timings) for run in self.runs(capture_id)]
            raise AssertionError(
                f"wanted {states}, found {json.dumps(found, default=str)}\n{error}"
            ) from None
        return self.runs(capture_id)


def end(process: subprocess.Popen, how: int = signal.SIGTERM) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(how)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def laboratory(db: Database, actor, directory: Path):
    with ExitStack() as stack:
        made = Lab(db, actor, directory, stack)
        try:
            yield made
        finally:
            for process in made.processes:
                end(process, signal.SIGKILL)


def left_on_host(run_id) -> list[str]:
    """What the capture of this run has left on this machine: its directory, and processes with its mark."""
    places = ("/var/tmp", "/tmp", "/dev/shm")
    left = [str(path) for place in places for path in Path(place).glob(f"culprit-{run_id}*")]
    mark = f"CULPRIT_RUN={run_id}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                left.append(f"{process} {(process / 'cmdline').read_bytes()[:200]!r}")
    return left

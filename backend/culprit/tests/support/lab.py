"""A platform in separate processes, and hosts that it may capture."""

import json
import os
import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from culprit.captures import service
from culprit.captures.schemas import CaptureCreate, ScopeRequest
from culprit.hosts.credentials import seal_credential
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import get_settings
from culprit.infra.vault import get_vault
from culprit.tests.support.command_line import PYTHON
from culprit.tests.support.product_process import ProductProcess, Program
from culprit.tests.support.sshd import Sshd, sshd
from sqlalchemy import select

LOG_TAIL = 6000


@dataclass
class Lab:
    """One database with hosts, and the processes of the platform."""

    db: Database
    actor: object
    directory: Path
    stack: ExitStack
    processes: list[ProductProcess] = field(default_factory=list)
    count: int = 0

    def sshd(self, **options) -> Sshd:
        self.count += 1
        return self.stack.enter_context(sshd(self.directory / f"sshd-{self.count}", **options))

    def add_host(self, server: Sshd, name: str = "", **values):
        self.count += 1
        name = name or f"lab-{self.count}"
        with unit_of_work(self.db.sessions) as session:
            if session.scalar(select(NetworkRule.id).limit(1)) is None:
                session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
            credential = Credential(id=new_uuid7(), name=f"key of {name}", kind="key", public={})
            seal_credential(credential, {"secret": server.client_key}, get_vault())
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
            capture_create = CaptureCreate(
                host_ids=list(hosts),
                plan=plan,
                seconds=seconds,
                collectors=list(collectors) if collectors else None,
                reason="test",
                scope=ScopeRequest(**(scope or {})),
            )
            capture = service.create_capture(session, actor or self.actor, artifact_store(), capture_create)
            if lengths:
                capture.collectors = [{"id": name, "seconds": lengths[name]} for name in collectors]
            return capture.id

    def cancel(self, capture_id):
        publisher = EventPublisher(get_settings().redis_url)
        with unit_of_work(self.db.sessions) as session:
            service.cancel_capture(session, self.actor, publisher, capture_id)
        publisher.close()

    def start(self, program: Program, *arguments: str, **environment: str) -> ProductProcess:
        log = self.directory / f"{'-'.join((program, *arguments))}-{len(self.processes)}.log"
        log.touch()
        process = ProductProcess(
            program, *arguments, environment={**os.environ, **PYTHON, **environment}, stdout=log
        )
        self.processes.append(process)
        return process

    def worker(self, kind: str = "ssh", **environment: str) -> ProductProcess:
        return self.start("worker", kind, **environment)

    def scheduler(self) -> ProductProcess:
        return self.start("scheduler")

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
        """Wait until `condition()` is true and return it; the limit ends a broken test."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if result := condition():
                return result
            time.sleep(0.1)
        raise AssertionError(f"{what or 'condition'} not met in {seconds} s\n{self.logs()}")

    def until_runs(self, capture_id, *states: str, seconds: float = 90):
        def all_there():
            return all(run.state in states for run in self.runs(capture_id))

        try:
            self.until(all_there, seconds)
        except AssertionError as error:
            matching_states = [
                (run.state, run.waiting, run.failure, run.timings) for run in self.runs(capture_id)
            ]
            raise AssertionError(
                f"wanted {states}, found {json.dumps(matching_states, default=str)}\n{error}"
            ) from None
        return self.runs(capture_id)


@contextmanager
def laboratory(db: Database, actor, directory: Path):
    with ExitStack() as stack:
        lab = Lab(db, actor, directory, stack)
        try:
            yield lab
        finally:
            for process in lab.processes:
                process.stop(signal.SIGKILL)


def left_on_host(run_id) -> list[str]:
    """Return what the capture of this run has left on this machine:

    its directory, and processes with its marker.
    """
    places = ("/var/tmp", "/tmp", "/dev/shm")
    left = [str(path) for place in places for path in Path(place).glob(f"culprit-{run_id}*")]
    mark = f"CULPRIT_RUN={run_id}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                left.append(f"{process} {(process / 'cmdline').read_bytes()[:200]!r}")
    return left

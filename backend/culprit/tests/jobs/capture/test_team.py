"""An installation of a team as processes: two of each on one database, one queue and one object store.

Each process has a home of its own, as on machines of their own. The object store is versitygw where the session
`containers` has built it, else the S3 server of the other tests.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from alembic import command
from culprit.infra.artifacts.store import BucketStore, artifact_store
from culprit.infra.db.session import Database
from culprit.infra.models.captures.run import Run
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat
from culprit.launcher.engines import Postgres, Valkey
from culprit.tests.conftest import PER_PROCESS, alembic_config, environment, make_people
from culprit.tests.support.bucket import s3
from culprit.tests.support.lab import Lab, laboratory, left_on_host
from culprit.tests.support.product_process import ProductProcess, Program
from culprit.tests.support.sshd import free_port
from sqlalchemy import select

from tools.checks.containers import go_tools, network_engines

SETTINGS = {"CULPRIT_LEASE_SECONDS": "6", "CULPRIT_SSH_CONCURRENCY": "1", "CULPRIT_LOG_LEVEL": "WARNING"}
HOSTS = 4
READY_S, END_S, CLEAN_S = 60.0, 90.0, 30.0


@dataclass
class Team:
    """The processes of an installation, and a client of each API process."""

    lab: Lab
    headers: dict[str, str]
    processes: dict[str, list[ProductProcess]] = field(default_factory=dict)
    clients: list[httpx2.Client] = field(default_factory=list)

    def start(self, name: str, program: Program, *arguments: str) -> ProductProcess:
        """Start a process with a home of its own."""
        home = self.lab.directory / f"home-{len(self.lab.processes)}"
        home.mkdir()
        process = self.lab.start(program, *arguments, **SETTINGS, CULPRIT_HOME=str(home))
        self.processes.setdefault(name, []).append(process)
        return process

    def start_api(self) -> None:
        """Start an API process on a port of its own."""
        port = free_port()
        self.start("api", "api", "--port", str(port), "--log-level", "error")
        url = f"http://127.0.0.1:{port}"
        self.clients.append(httpx2.Client(base_url=url, headers=self.headers, timeout=10))

    def start_all(self) -> None:
        """Start two API processes, two workers of each kind and a scheduler; wait until all have reported."""
        for _ in range(2):
            self.start_api()
            for role in ("ssh", "parse"):
                self.start(role, "worker", role)
        self.start("scheduler", "scheduler")
        for client in self.clients:
            self.lab.until(lambda client=client: is_ready(client), READY_S, "an API that is ready")
        expected = {item.pid for name in ("ssh", "parse", "scheduler") for item in self.processes[name]}
        self.lab.until(lambda: expected <= self.list_reported(), READY_S, "a heartbeat of each process")

    def list_reported(self) -> set[int]:
        """Return the processes that have reported to the database."""
        with self.lab.db.sessions() as session:
            return {int(name.rpartition(":")[2]) for name in session.scalars(select(ProcessHeartbeat.name))}

    def request(self, client: httpx2.Client, host: Any, seconds: int = 1) -> str:
        """Request a capture of a host."""
        body = {"host_ids": [str(host)], "plan": "custom", "collectors": ["vmstat"], "seconds": seconds}
        answer = client.post("/api/v1/captures", json={**body, "reason": "team"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def wait_state(self, client: httpx2.Client, capture: str, state: str) -> None:
        """Wait until an API process reports a state of a capture."""

        def has_state() -> bool:
            answer = client.get(f"/api/v1/captures/{capture}")
            return answer.status_code == 200 and answer.json()["state"] == state

        self.lab.until(has_state, END_S, f"a capture that is {state}")

    def read_artifacts(self, client: httpx2.Client, capture: str) -> list[bytes]:
        """Return the content of all artifacts of a capture."""
        contents = []
        for artifact in self.lab.artifacts(self.lab.run(capture).id):
            answer = client.get(f"/api/v1/artifacts/{artifact.id}/content")
            assert answer.status_code == 200, answer.text
            contents.append(answer.content)
        return contents

    def kill_process_of_each_kind(self) -> None:
        """Kill the worker that captures, the first API process, an idle parse worker and the scheduler."""

        def find_busy() -> ProductProcess | None:
            with self.lab.db.sessions() as session:
                running = session.scalars(select(Run.worker).where(Run.state == "running"))
                pids = {int(name.rpartition(":")[2]) for name in running if name}
            return next((item for item in self.processes["ssh"] if item.pid in pids), None)

        self.processes["parse"][0].stop(signal.SIGKILL)
        victims = [self.lab.until(find_busy, END_S, "a worker that captures")]
        victims += [self.processes[name][0] for name in ("api", "scheduler")]
        for process in victims:
            process.stop(signal.SIGKILL)
        self.clients.pop(0).close()

    def stop_all(self) -> list[str]:
        """Stop all processes as an operator does; return processes of their sessions that still run."""
        for process in self.lab.processes:
            process.terminate()
        for process in self.lab.processes:
            process.stop()
        sessions = {process.pid for process in self.lab.processes}
        with suppress(AssertionError):
            self.lab.until(lambda: not list_members(sessions), CLEAN_S)
        return list_members(sessions)


def is_ready(client: httpx2.Client) -> bool:
    """Return whether a load balancer would send requests to this API process."""
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.HTTPError:
        return False


def list_members(sessions: set[int]) -> list[str]:
    """Return the processes of sessions of the kernel."""
    members = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z" and int(fields[3]) in sessions:
                members.append(f"{process.name} {(process / 'cmdline').read_bytes()[:200]!r}")
    return members


@contextmanager
def run_object_store(directory: Path) -> Iterator[dict[str, str]]:
    """Run an S3 server with a bucket; yield the settings S3_*."""
    if gateway := go_tools.find_program("versitygw"):
        with network_engines.run_versitygw(gateway, directory) as settings:
            yield settings
        return
    with s3("evidence") as url:
        keys = {"S3_ACCESS_KEY_ID": "key", "S3_SECRET_ACCESS_KEY": "secret"}
        yield {"S3_ENDPOINT": url, "S3_BUCKET": "evidence", **keys}


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    tmp_path.chmod(0o755)
    with (
        Postgres(tmp_path / "postgres", durable=False) as postgres,
        Valkey(tmp_path / "valkey") as valkey,
        run_object_store(tmp_path) as store,
        environment(postgres.url, valkey.url, tmp_path) as settings,
    ):
        command.upgrade(alembic_config(postgres.url), "head")
        for name, value in store.items():
            monkeypatch.setenv(name, value)
        for cached in PER_PROCESS:
            cached.cache_clear()
        db = Database(settings.sqlalchemy_url)
        oncall = make_people(db)["oncall"]
        with laboratory(db, oncall.actor, tmp_path) as lab:
            installation = Team(lab, oncall.headers)
            installation.start_all()
            yield installation
            for client in installation.clients:
                client.close()
        db.close()


@pytest.mark.slow
def test_a_team_survives_the_kill_of_a_process_of_each_kind(team: Team) -> None:
    lab, (first, second) = team.lab, team.clients
    hosts = [lab.add_host(lab.sshd()) for _ in range(HOSTS)]
    captures = []
    for requested_from, followed_by in ((first, second), (second, first)):
        captures.append(team.request(requested_from, hosts[0]))
        team.wait_state(followed_by, captures[-1], "done")
        contents = team.read_artifacts(followed_by, captures[-1])
        assert contents
        assert contents == team.read_artifacts(requested_from, captures[-1])
    long = team.request(first, hosts[1], seconds=60)
    team.wait_state(second, long, "running")
    assert second.post(f"/api/v1/captures/{long}/cancel").status_code == 200
    team.wait_state(first, long, "canceled")

    captures += [team.request(first, host, seconds=3) for host in hosts]
    team.kill_process_of_each_kind()
    team.start("scheduler", "scheduler")
    captures += [team.request(second, host) for host in hosts]
    for capture in captures:
        team.wait_state(second, capture, "done")

    store = artifact_store()
    assert isinstance(store, BucketStore)
    runs = [lab.run(capture) for capture in captures]
    assert sum(run.worker_losses for run in runs) >= 1
    for run in runs:
        artifacts = lab.artifacts(run.id)
        parts = [(artifact.run_collector_id, artifact.part) for artifact in artifacts]
        assert len(parts) == len(set(parts)) > 0
        for artifact in artifacts:
            store.verify(artifact.sha256)
    everything = [*runs, lab.run(long)]
    lab.until(
        lambda: not [item for run in everything for item in left_on_host(run.id)], CLEAN_S, "clean hosts"
    )
    assert team.stop_all() == []
    assert list(lab.directory.glob("home-*/spool/*/outcome.json")) == []

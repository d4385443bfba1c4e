"""A storm: parts of a platform are killed at random while captures run on real hosts.

The platform has its own PostgreSQL and Valkey, an API, a scheduler, five SSH workers with one session each, and a
parse worker. Captures are requested through the API; a request without an answer is repeated with its idempotency key.
The database and the hosts are observed from outside.
"""

from __future__ import annotations

import random
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from alembic import command
from culprit.domain.runs.retries import MAX_PAUSE_S
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.models.captures.run import Run
from culprit.launcher.engines import Engine, Postgres, Valkey
from culprit.tests.conftest import alembic_config, environment, make_people
from culprit.tests.support.lab import Lab, laboratory, left_on_host
from culprit.tests.support.overlaps import HostObserver, list_overlaps, note_starts
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.sshd import free_port
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

FINAL_STATES = ("done", "partial", "failed", "canceled", "expired")
SETTINGS = {
    "CULPRIT_LEASE_SECONDS": "6",
    "CULPRIT_SSH_CONCURRENCY": "1",
    "CULPRIT_LOG_LEVEL": "WARNING",
}
SSH_WORKERS = 5
ENGINE_AWAY_S = 2.0
#: A run that is open so long after the last kill and the last accepted capture is late: the platform is behind.
LATE_S = 60.0
#: Runs are stuck if none of those that are open ends or changes its state for so long after the last kill. It is twice
#: the longest time after which the platform acts without a person: the longest pause before a lost run is repeated.
STUCK_S = 2 * MAX_PAUSE_S
CLEAN_S = 30.0


@dataclass(frozen=True, slots=True)
class StormPlan:
    """What a storm kills, and how often; `pause_s` is the longest time between two kills."""

    kills: dict[str, int]
    captures: int
    hosts: int
    pause_s: float


SHORT = StormPlan(
    {"worker": 5, "valkey": 2, "postgresql": 1, "api": 1, "scheduler": 1}, captures=14, hosts=4, pause_s=2.0
)
#: Twenty of them are 220 kills over at least 520 captures.
MEDIUM = StormPlan(
    {"worker": 7, "valkey": 1, "postgresql": 1, "api": 1, "scheduler": 1}, captures=26, hosts=6, pause_s=2.0
)
LONG = StormPlan(
    {"worker": 150, "valkey": 25, "postgresql": 15, "api": 10, "scheduler": 10},
    captures=500,
    hosts=12,
    pause_s=5.0,
)


@dataclass
class StormResult:
    """What a storm did and what it broke. A run with more losses of its worker than the product allows is `worker_lost`."""

    seed: int
    kills: dict[str, int]
    captures: int = 0
    runs: int = 0
    losses: int = 0
    repeated_requests: int = 0
    worker_lost: int = 0
    lost: int = 0
    doubled: int = 0
    overlapping: int = 0
    late: int = 0
    stuck: int = 0
    left_on_hosts: int = 0
    seconds: float = 0.0
    settled_s: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """Return one line with all numbers."""
        kills = ", ".join(f"{count} {name}" for name, count in self.kills.items())
        return (
            f"seed {self.seed}: {sum(self.kills.values())} kills ({kills}), {self.captures} captures, "
            f"{self.losses} lost workers of runs, {self.repeated_requests} repeated requests, {self.seconds:.0f} s; "
            f"lost {self.lost}, doubled {self.doubled}, overlapping {self.overlapping}, stuck {self.stuck}, "
            f"left on hosts {self.left_on_hosts}; ended as worker lost {self.worker_lost}; "
            f"open after {LATE_S:.0f} s {self.late}; last run ended {self.settled_s:.0f} s after the last kill or capture"
        )

    def as_json(self) -> dict[str, Any]:
        """Return all numbers."""
        return asdict(self)


class Requester(threading.Thread):
    """Request captures through the API, as many at once as there are hosts, until `stop` is set."""

    def __init__(
        self, url: str, headers: dict[str, str], hosts: list[str], count_open: Callable[[], int]
    ) -> None:
        super().__init__(daemon=True)
        self.client = httpx2.Client(base_url=url, headers=headers, timeout=10)
        self.hosts, self.count_open = hosts, count_open
        self.stop = threading.Event()
        self.accepted: list[str] = []
        self.last_accepted_at = 0.0
        self.repeated = 0
        self.refusals: Counter[str] = Counter()

    def run(self) -> None:
        """Request one capture after the other."""
        number = 0
        while not self.stop.is_set():
            with suppress(DBAPIError):
                if self.count_open() >= len(self.hosts) * 3 // 2:
                    self.stop.wait(0.2)
                    continue
                self.request_capture(self.hosts[number % len(self.hosts)])
                number += 1
        self.client.close()

    def request_capture(self, host: str) -> None:
        """Request one capture, and repeat it until it is accepted."""
        body = {
            "host_ids": [host],
            "plan": "custom",
            "collectors": ["vmstat"],
            "seconds": 1,
            "reason": "storm",
        }
        key = {"Idempotency-Key": secrets.token_hex(16)}
        while True:
            try:
                answer = self.client.post("/api/v1/captures", json=body, headers=key)
                reason = str(answer.status_code)
            except httpx2.HTTPError as error:
                answer, reason = None, type(error).__name__
            if answer is not None and answer.status_code == 201:
                self.accepted.append(answer.json()["id"])
                self.last_accepted_at = time.monotonic()
                return
            self.refusals[reason] += 1
            self.repeated += 1
            time.sleep(0.2)


@dataclass
class Storm:
    """A platform with its own engines, and the plan of a storm."""

    plan: StormPlan
    seed: int
    lab: Lab
    engines: dict[str, Engine]
    headers: dict[str, str]

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.port = free_port()
        self.hosts: list[Any] = []
        self.workers: list[ProductProcess] = []
        self.services: dict[str, ProductProcess] = {}

    def start(self) -> None:
        """Start the hosts and all processes."""
        note_starts(self.lab.db)
        self.hosts = [self.lab.add_host(self.lab.sshd()) for _ in range(self.plan.hosts)]
        for name in ("scheduler", "api"):
            self.services[name] = self.start_service(name)
        self.workers = [self.lab.worker("ssh", **SETTINGS) for _ in range(SSH_WORKERS)]
        self.workers.append(self.lab.worker("parse", **SETTINGS))

    def start_service(self, name: str) -> ProductProcess:
        """Start the API or a scheduler."""
        options = ("--port", str(self.port), "--log-level", "error") if name == "api" else ()
        return self.lab.start(name, *options, **SETTINGS)

    def run(self) -> StormResult:
        """Kill according to the plan while captures run; return what that broke."""
        result, began = StormResult(self.seed, {}), time.monotonic()
        self.start()
        requester = Requester(
            f"http://127.0.0.1:{self.port}", self.headers, [str(host) for host in self.hosts],
            lambda: len(self.list_open("queued", "running")),
        )  # fmt: skip
        observer = HostObserver()
        requester.start()
        observer.start()
        last_kill = time.monotonic()
        try:
            kinds = [kind for kind, count in self.plan.kills.items() for _ in range(count)]
            self.chance.shuffle(kinds)
            for number, kind in enumerate(kinds):
                if number % 20 == 0:
                    print(f"{number} of {len(kinds)} kills, {len(requester.accepted)} captures", flush=True)
                try:
                    self.lab.until(lambda: self.ask(self.list_running), 120, "a run")
                except AssertionError as error:
                    raise AssertionError(f"{self.describe(requester)}\n{error}") from None
                time.sleep(self.chance.uniform(0, self.plan.pause_s))
                self.kill(kind)
                result.kills[kind] = result.kills.get(kind, 0) + 1
                last_kill = time.monotonic()
            self.lab.until(lambda: len(requester.accepted) >= self.plan.captures, 1800, "all captures")
        finally:
            requester.stop.set()
            requester.join(60)
        # Captures that were requested later may end later.
        quiet_from = max(last_kill, requester.last_accepted_at)
        with suppress(AssertionError):
            self.lab.until(
                lambda: not self.list_open(), quiet_from + LATE_S - time.monotonic(), "the end of all runs"
            )
        result.late = len(self.list_open())
        stuck = self.wait_for_end()
        result.stuck = len(stuck)
        result.problems += [f"run {run} is stuck in the state {state}" for run, state in stuck]
        result.settled_s = time.monotonic() - quiet_from
        observer.stop.set()
        observer.join()
        self.judge_runs(result, requester.accepted, observer)
        result.repeated_requests = requester.repeated
        result.seconds = time.monotonic() - began
        return result

    def wait_for_end(self) -> list[tuple[str, str]]:
        """Wait while runs end or change their state; return (ID, state) of those that no longer do."""
        before: list[tuple[str, str]] = []
        changed_at = time.monotonic()
        while open_runs := self.list_open_states():
            if open_runs != before:
                before, changed_at = open_runs, time.monotonic()
            elif time.monotonic() - changed_at > STUCK_S:
                return open_runs
            time.sleep(0.5)
        return []

    def list_open_states(self) -> list[tuple[str, str]]:
        """Return (ID, state) of the runs that have not ended."""
        with self.lab.db.sessions() as session:
            query = select(Run.id, Run.state).where(Run.state.not_in(FINAL_STATES)).order_by(Run.id)
            return [(str(run), state) for run, state in session.execute(query)]

    def describe(self, requester: Requester) -> str:
        """Return what the platform waits for."""
        runs = [
            (str(run.id), run.state, run.waiting, run.not_before, run.worker_losses)
            for run in self.ask(self.list_runs) or ()
            if run.state not in FINAL_STATES
        ]
        refusals = dict(requester.refusals)
        return f"{len(requester.accepted)} accepted, refused {refusals}, alive {requester.is_alive()}; open {runs}"

    def ask(self, question: Callable[[], Any]) -> Any:
        """Return an answer of the database, or None while it is away."""
        try:
            return question()
        except DBAPIError:
            return None

    def list_runs(self) -> list[Run]:
        """Return all runs."""
        with self.lab.db.sessions() as session:
            return list(session.scalars(select(Run).order_by(Run.id)))

    def list_open(self, *states: str) -> list[Any]:
        """Return the IDs of runs in `states`; of those that have not ended, without states."""
        condition = Run.state.in_(states) if states else Run.state.not_in(FINAL_STATES)
        with self.lab.db.sessions() as session:
            return list(session.scalars(select(Run.id).where(condition)))

    def list_running(self) -> list[str]:
        """Return the workers of running runs."""
        with self.lab.db.sessions() as session:
            return [str(item) for item in session.scalars(select(Run.worker).where(Run.state == "running"))]

    def kill(self, kind: str) -> None:
        """Kill one process of a kind and start it again."""
        if kind == "worker":
            running = {name.rpartition(":")[2] for name in self.ask(self.list_running) or ()}
            busy = [worker for worker in self.workers if str(worker.pid) in running]
            victim = self.chance.choice(busy or self.workers)
            at = self.workers.index(victim)
            victim.stop(signal.SIGKILL)
            role = "parse" if at == SSH_WORKERS else "ssh"
            self.workers[at] = self.lab.worker(role, **SETTINGS)
        elif kind in self.engines:
            engine = self.engines[kind]
            assert engine.child is not None
            engine.child.send_signal(signal.SIGKILL)
            engine.child.wait()
            time.sleep(self.chance.uniform(0, ENGINE_AWAY_S))
            engine.restart()
            self.lab.until(engine.is_ready, 60, kind)
        else:
            self.services[kind].stop(signal.SIGKILL)
            self.services[kind] = self.start_service(kind)

    def judge_runs(self, result: StormResult, requests: list[str], observer: HostObserver) -> None:
        """Compare all runs with the captures that were accepted, one for each request, and with the hosts."""
        runs = self.list_runs()
        store = artifact_store()
        accepted, stored = set(requests), {str(run.capture_id) for run in runs}
        result.captures, result.runs = len(requests), len(runs)
        result.losses = sum(run.worker_losses for run in runs)
        result.problems += [f"capture {item} is not stored" for item in accepted - stored]
        result.lost = len(accepted - stored)
        doubles = [f"capture {item} was not accepted" for item in stored - accepted]
        doubles += ["two requests have one capture"] * (len(requests) - len(accepted))
        for run in runs:
            artifacts = self.lab.artifacts(run.id)
            parts = Counter((artifact.run_collector_id, artifact.part) for artifact in artifacts)
            doubles += [f"run {run.id} has {count} of {part}" for part, count in parts.items() if count > 1]
            if run.state == "failed" and run.failure["key"] == "run.worker_lost" and run.worker_losses > 3:
                result.worker_lost += 1
            elif run.state != "done" or not artifacts:
                result.lost += 1
                result.problems.append(
                    f"run {run.id} is {run.state}: {run.failure}, {len(artifacts)} artifacts"
                )
            for artifact in artifacts:
                store.verify(artifact.sha256)
        overlaps = [f"the database has two running runs: {item}" for item in list_overlaps(self.lab.db)]
        # Other tests may capture this machine, too.
        marks = {f"CULPRIT_RUN={run.id}" for run in runs}
        overlaps += [
            f"two collectors at once: {item}" for item in observer.overlaps if len(marks & set(item)) > 1
        ]
        result.doubled, result.overlapping = len(doubles), len(overlaps)
        result.problems += doubles + overlaps
        assert observer.runs & marks, "no collector was observed on a host"

        def list_left() -> list[str]:
            return [item for run in runs for item in left_on_host(run.id)]

        with suppress(AssertionError):
            self.lab.until(lambda: not list_left(), CLEAN_S, "clean hosts")
        left = list_left()
        result.left_on_hosts = len(left)
        result.problems += left


@contextmanager
def prepare_storm(directory: Path, plan: StormPlan, seed: int) -> Iterator[Storm]:
    """Start engines and prepare a platform below `directory`."""
    directory.chmod(0o755)
    with Postgres(directory / "postgres", durable=True) as postgres, Valkey(directory / "valkey") as valkey:
        command.upgrade(alembic_config(postgres.url), "head")
        with environment(postgres.url, valkey.url, directory) as settings:
            db = Database(settings.sqlalchemy_url)
            oncall = make_people(db)["oncall"]
            with laboratory(db, oncall.actor, directory) as lab:
                engines = {"postgresql": postgres, "valkey": valkey}
                yield Storm(plan, seed, lab, engines, oncall.headers)
            db.close()


def run_storm(directory: Path, plan: StormPlan, seed: int) -> StormResult:
    """Run one storm."""
    with prepare_storm(directory, plan, seed) as storm:
        return storm.run()

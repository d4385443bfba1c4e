"""A failure at each step of a capture, in each process of the platform: nothing is lost, doubled or left behind.

The storm kills at random moments; here each step is hit once, and the mark of the process proves that it was.
"""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from culprit.tests.support.crash_points import (
    API_POINTS,
    LOST_CONNECTION_POINTS,
    MARK,
    PARSE_POINTS,
    POINTS,
    SCHEDULER_POINTS,
    SESSION_POINTS,
    WORKER_POINTS,
)
from culprit.tests.support.overlaps import HostObserver, note_starts
from culprit.tests.support.product_process import CRASH_AT, ProductProcess
from culprit.tests.support.storm import SETTINGS, Requester, Storm, StormPlan, StormResult, prepare_storm

pytestmark = pytest.mark.long(60)

REACHED_S = 90.0
END_S = 240.0
AWAY_S = 1.0
SIGKILLED = -9


@dataclass
class CrashSweep:
    """A platform whose processes fail at chosen points."""

    storm: Storm
    directory: Path
    marks: dict[str, Path] = field(default_factory=dict)
    restarts: int = 0

    def start(self, name: str) -> ProductProcess:
        """Start the process that fails at the point."""
        point = POINTS[name]
        self.marks[name] = self.directory / f"mark-{len(self.marks)}"
        options = {**SETTINGS, CRASH_AT: name, MARK: str(self.marks[name])}
        if point.program == "api":
            port = ("--port", str(self.storm.port), "--log-level", "error")
            return self.storm.lab.start("api", *port, **options)
        arguments = (point.role,) if point.role else ()
        return self.storm.lab.start(point.program, *arguments, **options)

    def wait_reached(self, names: list[str]) -> None:
        """Wait until all processes have reached their points."""

        def all_reached() -> bool:
            self.restart_database()
            return all(self.marks[name].exists() for name in names)

        try:
            self.storm.lab.until(all_reached, REACHED_S)
        except AssertionError as error:
            missed = [name for name in names if not self.marks[name].exists()]
            raise AssertionError(f"not reached: {missed}\n{error}") from None

    def restart_database(self) -> int:
        """Start PostgreSQL again, a while after a point has stopped it. Return how often that was done."""
        engine = self.storm.engines["postgresql"]
        if engine.pid is None:
            time.sleep(AWAY_S)
            engine.restart()
            self.restarts += 1
            # The next point may stop it before its readiness is noticed.
            self.storm.lab.until(
                lambda: engine.is_ready() or engine.pid is None, 60, "a restarted PostgreSQL"
            )
        return self.restarts

    def crash(self, names: list[str]) -> None:
        """Start processes that are killed at their points, and wait until they are dead."""
        processes = {name: self.start(name) for name in names}
        self.wait_reached(names)
        statuses = {name: _wait_status(process) for name, process in processes.items()}
        assert set(statuses.values()) == {SIGKILLED}, statuses

    def finish(self, requester: Requester, observer: HostObserver) -> StormResult:
        """Wait for the end of all runs; return what the failures broke."""
        result = StormResult(0, {})
        requester.client.close()
        lab = self.storm.lab
        lab.until(lambda: self.storm.ask(lambda: not self.storm.list_open()), END_S, "the end of all runs")
        observer.stop.set()
        observer.join()
        self.storm.judge_runs(result, requester.accepted, observer)
        outcomes = lab.directory / "home" / "spool"
        lab.until(lambda: not list(outcomes.glob("*/outcome.json")), 30, "a spool without outcomes")
        return result


def _wait_status(process: ProductProcess) -> int:
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        return 0


def check_result(result: StormResult) -> None:
    print(result.summary)
    assert result.problems == []
    assert (result.lost, result.doubled, result.overlapping, result.left_on_hosts) == (0, 0, 0, 0)
    # No run lost its worker so often that it was given up.
    assert result.worker_lost == 0


def prepare_sweep(storm: Storm, directory: Path) -> tuple[CrashSweep, Requester, HostObserver]:
    """Start hosts and observers; no process of the platform runs yet."""
    note_starts(storm.lab.db)
    storm.hosts = [storm.lab.add_host(storm.lab.sshd()) for _ in range(storm.plan.hosts)]
    hosts = [str(host) for host in storm.hosts]
    requester = Requester(f"http://127.0.0.1:{storm.port}", storm.headers, hosts, lambda: 0)
    observer = HostObserver()
    observer.start()
    return CrashSweep(storm, directory), requester, observer


def test_a_kill_at_each_step_of_a_capture_loses_and_doubles_nothing(tmp_path: Path) -> None:
    points = [*WORKER_POINTS, *SESSION_POINTS]
    plan = StormPlan({}, captures=0, hosts=len(points) + len(API_POINTS), pause_s=0)
    with prepare_storm(tmp_path, plan, 0) as storm:
        sweep, requester, observer = prepare_sweep(storm, tmp_path)
        hosts = iter(requester.hosts)
        for name in API_POINTS:
            request = threading.Thread(target=requester.request_capture, args=(next(hosts),), daemon=True)
            request.start()
            sweep.crash([name])
            api = storm.start_service("api")
            request.join(60)
            api.stop()
        storm.start_service("api")
        for host in hosts:
            requester.request_capture(host)
        before_commit, before_messages = SCHEDULER_POINTS
        sweep.start(before_commit)
        workers = {name: sweep.start(name) for name in points}
        sweep.wait_reached([before_commit])
        sweep.crash([before_messages])
        storm.start_service("scheduler")
        sweep.wait_reached(points)
        assert {_wait_status(workers[name]) for name in WORKER_POINTS} == {SIGKILLED}
        assert {workers[name].poll() for name in SESSION_POINTS} == {None}
        for name in PARSE_POINTS:
            sweep.crash([name])
        storm.lab.worker("ssh", **SETTINGS)
        storm.lab.worker("parse", **SETTINGS)
        result = sweep.finish(requester, observer)
        check_result(result)
        assert result.captures == plan.hosts
        # A run before its claim, or with a spooled or committed result, loses no worker.
        assert result.losses >= 12


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("action", ["drop_database", "stop_database", "drop_queue"])
def test_connections_lost_at_each_step_of_a_capture_lose_and_double_nothing(
    tmp_path: Path, action: str
) -> None:
    names = [name for name in LOST_CONNECTION_POINTS if name.startswith(action)]
    analysis = [name for name in names if POINTS[name].role == "parse"]
    captures = [name for name in names if name not in analysis]
    plan = StormPlan({}, captures=0, hosts=2 * len(captures), pause_s=0)
    with prepare_storm(tmp_path, plan, 0) as storm:
        sweep, requester, observer = prepare_sweep(storm, tmp_path)
        for name in ("api", "scheduler"):
            storm.start_service(name)
        for host in requester.hosts:
            requester.request_capture(host)
        processes = [sweep.start(name) for name in captures]
        sweep.wait_reached(captures)
        processes += [sweep.start(name) for name in analysis]
        sweep.wait_reached(analysis)
        expected = len(names) if action == "stop_database" else 0
        storm.lab.until(lambda: sweep.restart_database() >= expected, END_S, "all restarts of the database")
        check_result(sweep.finish(requester, observer))
        assert sweep.restarts == expected
        assert [process.poll() for process in processes] == [None] * len(names)

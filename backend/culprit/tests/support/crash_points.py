"""Points in the processes of the platform at which a test lets something fail, once for each process.

A process that is started with `CULPRIT_TEST_CRASH_AT` in its environment fails at that point: it is killed, the child of its
session is killed, or the server of the database or of the queue closes all connections.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from culprit.launcher.supervision.child_processes import is_alive
from culprit.tests.support.product_process import Program

#: File that the process creates when it reaches its point.
MARK = "CULPRIT_TEST_CRASH_MARK"
#: Longest time that a process waits for a database that another process has stopped.
DATABASE_BACK_S = 60.0

Action = Literal["kill", "kill_group", "kill_session", "drop_database", "stop_database", "drop_queue"]
Values = tuple[Any, ...]


def _always(arguments: Values, result: Any) -> bool:
    return True


def _has_result(arguments: Values, result: Any) -> bool:
    return bool(result)


def _is_message(**expected: str) -> Callable[[Values, Any], bool]:
    """Return whether a message of a session has these values, also in its frame."""

    def matches(arguments: Values, result: Any) -> bool:
        message = arguments[1]
        values = {**message, **{f"frame_{name}": value for name, value in message.get("frame", {}).items()}}
        return all(values.get(name) == value for name, value in expected.items())

    return matches


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """`place` is `module:function` as the caller looks it up; `condition` gets its arguments and its result."""

    program: Program
    role: str
    place: str
    moment: Literal["before", "after"]
    action: Action = "kill"
    condition: Callable[[Values, Any], bool] = _always


RUN = "culprit.jobs.capture.run_capture"
MESSAGE = "culprit.jobs.capture.session_supervisor:_handle_message"
INGEST = "culprit.jobs.ingest.ingest_run"
SWEEP = "culprit.jobs.system.sweep"

#: A worker of captures, in the order of a run.
WORKER_POINTS = {
    "before the claim": CrashPoint("worker", "ssh", f"{RUN}:leases.claim_run", "before"),
    "after the claim, before the connection": CrashPoint("worker", "ssh", f"{RUN}:_run_session", "before"),
    "after login, before the command": CrashPoint("worker", "ssh", f"{RUN}:_build_command", "before"),
    "with the command built": CrashPoint("worker", "ssh", f"{RUN}:_build_command", "after"),
    "during the capture": CrashPoint("worker", "ssh", f"{RUN}:_renew_run", "after"),
    "after the transfer": CrashPoint("worker", "ssh", f"{RUN}:_store_and_commit", "before"),
    "with stored artifacts": CrashPoint("worker", "ssh", f"{RUN}:store_artifacts", "after"),
    "with a spooled outcome": CrashPoint("worker", "ssh", f"{RUN}:commit_safely", "before"),
    "before the commit": CrashPoint("worker", "ssh", f"{RUN}:commit_result", "after"),
    "after the commit, before the message": CrashPoint(
        "worker", "ssh", "culprit.infra.task_queue:enqueue_job", "before"
    ),
    "after the commit": CrashPoint("worker", "ssh", f"{RUN}:commit_safely", "after"),
}
#: The child that holds the SSH session.
SESSION_POINTS = {
    f"session: {name}": CrashPoint("worker", "ssh", MESSAGE, "before", "kill_session", condition)
    for name, condition in {
        "connect": _is_message(kind="stage", stage="connect"),
        "key exchange": _is_message(kind="stage", stage="kex"),
        "login": _is_message(kind="stage", stage="auth"),
        "command": _is_message(kind="stage", stage="exec"),
        "first output": _is_message(kind="frame", frame_kind="hello"),
        "end of a collector": _is_message(kind="frame", frame_kind="outcome"),
        "end of the output": _is_message(kind="frame", frame_kind="end"),
    }.items()
}
#: A worker of the analysis with its pool of processes.
PARSE_POINTS = {
    f"analysis: {name}": CrashPoint("worker", "parse", f"{INGEST}:{place}", moment, "kill_group")
    for name, place, moment in (
        ("begun", "parse_all", "before"),
        ("parsed", "parse_all", "after"),
        ("before the commit", "store_run", "after"),
        ("after the commit", "_store_results", "after"),
    )
}
EVALUATION = "culprit.jobs.analysis.evaluate_run"
EVALUATION_POINTS = {
    "evaluation: begun": CrashPoint("worker", "parse", f"{EVALUATION}:evaluate_view", "before", "kill_group"),
    "evaluation: before the commit": CrashPoint(
        "worker", "parse", f"{EVALUATION}:_store_evaluation", "after", "kill_group"
    ),
}
SCHEDULER_POINTS = {
    "sweep: before the commit": CrashPoint(
        "scheduler", "", f"{SWEEP}:expire_leases", "after", condition=_has_result
    ),
    "sweep: before the messages": CrashPoint("scheduler", "", f"{SWEEP}:enqueue_pending", "before"),
}
API_POINTS = {
    "request: before the commit": CrashPoint("api", "", "culprit.captures.service:create_capture", "after"),
    "request: after the commit": CrashPoint("api", "", "culprit.infra.task_queue:enqueue_job", "before"),
}
#: Connections and servers that are lost at a step of a run, where the process goes on.
LOST_CONNECTION_POINTS = {
    f"{action}: {name}": CrashPoint("worker", point.role, point.place, point.moment, action)
    for action in ("drop_database", "stop_database", "drop_queue")
    for name, point in (WORKER_POINTS | PARSE_POINTS).items()
}  # fmt: skip
POINTS: dict[str, CrashPoint] = (
    WORKER_POINTS
    | SESSION_POINTS
    | PARSE_POINTS
    | EVALUATION_POINTS
    | SCHEDULER_POINTS
    | API_POINTS
    | LOST_CONNECTION_POINTS
)


def install_crash_point(name: str) -> None:
    """Replace the function of a point in this process."""
    point = POINTS[name]
    module, _, path = point.place.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, attribute = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original = getattr(owner, attribute)
    guard = threading.Lock()

    def reach_point(arguments: Values, result: Any) -> None:
        mark = Path(os.environ[MARK])
        with guard:
            if mark.exists() or not point.condition(arguments, result):
                return
            mark.touch()
        strike(point.action, arguments)

    def replacement(*arguments: Any, **options: Any) -> Any:
        if point.moment == "before":
            reach_point(arguments, None)
        result = original(*arguments, **options)
        if point.moment == "after":
            reach_point(arguments, result)
        return result

    setattr(owner, attribute, replacement)


def strike(action: Action, arguments: Values) -> None:
    """Kill a process, or let a server close all connections except that of this function."""
    from culprit.infra.settings import get_settings

    settings = get_settings()
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "kill_group":
        os.killpg(os.getpgid(0), signal.SIGKILL)
    elif action == "kill_session":
        os.kill(arguments[0].child.pid, signal.SIGKILL)
    elif action == "drop_database":
        import psycopg

        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    elif action == "stop_database":
        stop_database(os.environ["DATABASE_URL"])
    else:
        from redis import Redis

        with Redis.from_url(settings.redis_url) as redis:
            for kind in ("normal", "pubsub"):
                redis.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def stop_database(url: str) -> None:
    """Shut the server down as `pg_ctl restart` does, and return once it is gone; the test starts it again.

    Points of several processes stop it in turn: each waits until the server runs again.
    """
    import psycopg

    with Path(os.environ[MARK]).with_name("stop-database.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        deadline = time.monotonic() + DATABASE_BACK_S
        while True:
            try:
                with psycopg.connect(url, autocommit=True) as connection:
                    row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
                break
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        assert row is not None
        server = int(row[0].split()[0])
        os.kill(server, signal.SIGINT)
        while is_alive(server) and time.monotonic() < deadline:
            time.sleep(0.02)

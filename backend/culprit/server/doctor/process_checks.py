"""Checks of workers and the scheduler by their heartbeats, and of what waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Connection

from culprit.server.doctor import queries
from culprit.server.doctor.commands import RepairCommands
from culprit.server.doctor.results import ServiceCheck
from culprit.server.health import BACKGROUND, MAX_HEARTBEAT_AGE, is_serving
from culprit.server.queries import read_oldest_wait

#: Queues of each kind of worker.
QUEUES = {"worker-ssh": ("ssh",), "worker-parse": ("parse", "default")}
LONG_QUEUE = 200
LONG_WAIT = timedelta(minutes=10)


def check_processes(
    connection: Connection, commands: RepairCommands, queued: dict[str, int] | None
) -> Iterator[ServiceCheck]:
    """Yield a check for each kind of process, and one for runs that wait."""
    rows = queries.list_heartbeats(connection)
    for name, queue in BACKGROUND.items():
        ages = [age for process, detail, age in rows if is_serving(queue, process, detail)]
        alive = [age for age in ages if age <= MAX_HEARTBEAT_AGE]
        waiting = None if queued is None else sum(queued.get(key, 0) for key in QUEUES.get(name, ()))
        yield describe_kind(name, ages, len(alive), waiting, commands)
    yield check_waiting_runs(connection, commands)


def describe_kind(
    name: str, ages: list[timedelta], alive: int, waiting: int | None, commands: RepairCommands
) -> ServiceCheck:
    """Return the check of one kind of process from the ages of its heartbeats."""
    jobs = f"; {waiting} jobs wait" if waiting else ""
    if not alive:
        last = (
            f"the last heartbeat is {_format_minutes(min(ages))} old"
            if ages
            else "no heartbeat in the last day"
        )
        return ServiceCheck(name, "problem", f"No {name} runs: {last}{jobs}.", commands.start_process(name))
    count = f"{alive} {'process runs' if alive == 1 else 'processes run'}{jobs}"
    if waiting and waiting > LONG_QUEUE:
        command = f"start a second {name}: {RepairCommands(launcher=False).start_process(name)}"
        return ServiceCheck(name, "warning", f"The queue is long: {count}.", command)
    return ServiceCheck(name, "ok", f"{count}.")


def check_waiting_runs(connection: Connection, commands: RepairCommands) -> ServiceCheck:
    """Check how long runs have been due without a start."""
    count, age = read_oldest_wait(connection)
    if age is not None and age > LONG_WAIT:
        message = f"{count} runs are due and not started, the oldest for {_format_minutes(age)}."
        return ServiceCheck("waiting runs", "warning", message, commands.start_process("worker-ssh"))
    return ServiceCheck("waiting runs", "ok", f"{count} runs are due.")


def _format_minutes(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"

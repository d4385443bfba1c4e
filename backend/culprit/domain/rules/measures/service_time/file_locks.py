"""Files of a service that another process keeps locked, where its requests sleep instead of waiting for the lock.

A program that asks for a lock without waiting, and asks again after a pause, waits in no queue that the kernel knows
(fcntl F_SETLK, flock LOCK_NB). SQLite does so: its busy handler sleeps for up to 100 ms between two attempts.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount
from culprit.domain.rules.measures.service_time.shares import NEEDS, cite_time, read_accounts
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView


def _measure_locked_files(view: HostView, times: ServiceTimes, account: TimeAccount) -> Iterator[Measurement]:
    """Measure the files that a service may write and that another process kept locked for all of the capture."""
    del times
    sleeping = sum(amount.number for (activity, _), amount in account.amounts.items() if activity == "sleep")
    if sleeping < LEAST_WAITING:
        return
    opened = {
        row.text("path"): row
        for row in view.rows("fds")
        if row.text("pid") in account.service.pids and row.text("access") in ("rw", "w")
    }
    held = [
        row
        for row in view.rows("held_locks")
        if row.text("path") in opened and row.text("pid") not in account.service.pids
    ]
    if held:
        detail: Detail = {
            "name": account.service.name,
            "path": held[0].text("path"),
            "holder": held[0].text("pid"),
            "holder_comm": held[0].text("comm") or "?",
        }
        cites = (*cite_rows(held, [opened[row.text("path")] for row in held]), *cite_time(account))
        yield Measurement(float(len(held)), account.service.subject, cites, account.samples, (), detail)


LOCKED_FILES = Measure(
    "service.locked_files", "count", Text("Own files that another process keeps locked", "被其他进程锁住的自用文件"),
    (*NEEDS, ("kernel_waits",), ("fd_table",)), read_accounts(_measure_locked_files),
)  # fmt: skip

"""Processes that a signal or their control group stopped: what their threads last did is not what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.measures.service_time.activities import EXACT, STOPPED, UNKNOWN
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, add_amounts
from culprit.domain.rules.measures.service_time.services import LocalService, ServiceMap
from culprit.domain.rules.view import HostView, TableRow


def find_stopped(view: HostView, services: ServiceMap) -> frozenset[str]:
    """Return the processes that a signal or their control group stopped, and that used no CPU time in the window."""
    stopped = {row.text("pid") for row in view.rows("held_processes") if row.text("state") == "T"}
    for service in services.services:
        if list_frozen(view, service):
            stopped |= service.pids
    ran = {row.text("pid") for row in view.rows("process_time") if row.number("run_ms")}
    return frozenset(stopped - ran)


def list_frozen(view: HostView, service: LocalService) -> list[TableRow]:
    """Return the frozen control groups that hold a service."""
    return [
        row
        for row in view.rows("frozen_groups")
        if service.group and is_inside_group(service.group, row.text("path").rstrip("/"))
    ]


def stop_threads(
    rows: Mapping[str, Sequence[TableRow]], stopped: frozenset[str]
) -> Mapping[str, Sequence[TableRow]]:
    """Return rows of `thread_time` by pid, where the threads of stopped processes are stopped.

    The kernel shows the system call in which a thread was stopped, such as that of an idle event loop.
    """
    return {pid: [_stop(row) for row in items] if pid in stopped else items for pid, items in rows.items()}


def stop_requests(amounts: Mapping[Key, Amount]) -> Mapping[Key, Amount]:
    """Return the amounts of a service whose processes are all stopped: no thread shows its requests, which wait too."""
    waiting = [amount for key, amount in amounts.items() if key[0] in (STOPPED, UNKNOWN)]
    rest = {key: amount for key, amount in amounts.items() if key[0] not in (STOPPED, UNKNOWN)}
    return {**rest, (STOPPED, ""): add_amounts(waiting)} if waiting else rest


def _stop(row: TableRow) -> TableRow:
    if row.text("activity") in EXACT:
        return row
    return replace(row, cells={**row.cells, "activity": STOPPED, "target": ""})

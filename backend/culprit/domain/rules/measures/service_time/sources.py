"""The rows that the time account of a service is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.measures.service_time.services import LocalService, get_program, index_rows
from culprit.domain.rules.measures.service_time.stopped import list_frozen
from culprit.domain.rules.view import HostView, TableRow

#: Tables with a row for a process that accounts are made of.
_KINDS = (
    *("process_time", "thread_time", "thread_groups", "tcp_waits", "listeners", "unix_calls"),
    *("held_processes", "db_sessions"),
)
Links = Iterable[tuple[LocalService, LocalService]]
"""Services that call each other."""


def cite_services(
    view: HostView, services: Sequence[LocalService], links: Links
) -> Mapping[frozenset[str], tuple[Citation, ...]]:
    """Return the sources of the account of each service, by its processes.

    Services that call each other, directly or through others, have the same sources: the requests of one are counted
    from what its callers wait for, and their time from what it does.
    """
    tables = {kind: index_rows(view.rows(kind)) for kind in _KINDS}
    called = index_rows(view.rows("unix_calls"), "peer_pid")
    processes = {row.text("pid"): row for row in view.rows("processes")}
    longest = max(view.rows("process_time"), key=_get_wall_ms, default=None)
    sources: dict[frozenset[str], tuple[Citation, ...]] = {}
    for members in _join_linked(services, links):
        pids = sorted({pid for service in members for pid in service.pids})
        citations = cite_rows(
            (row for index in (*tables.values(), called) for pid in pids for row in index.get(pid, ())),
            _list_lineage(pids, processes),
            _list_limits(view, members, services),
            (row for service in members for row in list_frozen(view, service)),
            (longest,) if longest else (),
        )
        sources |= {service.pids: citations for service in members}
    return sources


def _get_wall_ms(row: TableRow) -> float:
    """Return for how long each thread of a process was sampled."""
    return (row.number("wall_ms") or 0.0) / (row.number("threads") or 1.0)


def _join_linked(services: Sequence[LocalService], links: Links) -> list[list[LocalService]]:
    group_of = {service.pids: [service] for service in services}
    for caller, callee in links:
        first, second = group_of[caller.pids], group_of[callee.pids]
        if first is not second:
            first.extend(second)
            group_of |= {service.pids: first for service in second}
    return list({id(group): group for group in group_of.values()}.values())


def _list_lineage(pids: Iterable[str], processes: Mapping[str, TableRow]) -> list[TableRow]:
    """Return processes and their ancestors with the same program, as services are grouped by them."""
    rows: dict[str, TableRow] = {}
    for pid in pids:
        at = pid
        while (row := processes.get(at)) is not None and at not in rows:
            rows[at] = row
            parent = processes.get(row.text("ppid"))
            if parent is None or get_program(parent) != get_program(row):
                break
            at = parent.text("pid")
    return list(rows.values())


def _list_limits(
    view: HostView, members: Sequence[LocalService], services: Sequence[LocalService]
) -> list[TableRow]:
    """Return the CPU limits above services, and the processes that share one."""
    limits = [
        row
        for row in view.rows("cgroup_cpu")
        if any(service.group and is_inside_group(service.group, row.text("path")) for service in members)
    ]
    sharing = [
        row
        for limit in limits
        if (limit.number("throttled_s") or 0.0) > 0
        for service in services
        if service.group and is_inside_group(service.group, limit.text("path"))
        for row in service.rows
    ]
    return [*limits, *sharing]

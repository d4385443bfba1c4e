"""Time accounts: where the requests of a service spend their time, along the calls between services of a host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.places import is_inside_group
from culprit.domain.rules.measures.service_time.activities import PEER, RUNNABLE, UNKNOWN
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, Share, add_amounts, compute_share
from culprit.domain.rules.measures.service_time.services import (
    SESSIONS,
    Service,
    ServiceMap,
    index_rows,
    map_services,
    normalize_target,
    sum_column,
)
from culprit.domain.rules.measures.service_time.thread_amounts import (
    ThreadAmounts,
    get_window_ms,
    read_thread_amounts,
    read_throttled_groups,
)
from culprit.domain.rules.view import HostView, TableRow
from culprit.domain.statistics.intervals import wilson_interval

#: Fewer idle serving threads than this, on average, mean that the next request finds none.
IDLE_SERVER = 0.5
#: Busy threads on average from which on one is busy nearly always: a request then waits nine service times (M/M/1).
BUSY_SERVER = 0.9
MAX_CPU_USERS = 5


@dataclass(frozen=True, slots=True)
class CpuUser:
    """A process that used the CPUs while a service waited for one; `share` is of all used CPU time, 0 to 1."""

    name: str
    pid: str
    share: float
    citation: Citation


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """The account of one service.

    `amounts` are what its threads and requests are busy with, `idle` its other threads; together they are all of its
    threads and requests. `waiting` is the mean number of requests that it has taken and not answered, `queued` of those
    that no thread has taken, `oldest_ms` the longest wait of one. `callees` are the accounts of local services that it
    waits for, by target. `ran_instead` are the processes that used most CPU time, if its threads waited for a CPU.
    `busy_threads` are threads that work or wait for what they need, `free_threads` idle ones that can take a request.
    """

    service: Service
    amounts: Mapping[Key, Amount]
    idle: Mapping[Key, Amount]
    waiting: float = 0.0
    queued: float = 0.0
    oldest_ms: float = 0.0
    samples: int = 0
    citations: tuple[Citation, ...] = ()
    callees: Mapping[str, Service] = field(default_factory=dict)
    is_target: bool = False
    ran_instead: tuple[CpuUser, ...] = ()
    busy_threads: float = 0.0
    free_threads: float = 0.0

    @property
    def total(self) -> float:
        """The mean number of threads and requests that are busy."""
        return sum(amount.number for amount in self.amounts.values())

    def share(self, is_part: Callable[[str, str], bool]) -> Share:
        """Return the share that `is_part` selects by activity and target, in the time that is not idle."""
        return compute_share(self.amounts, is_part)

    def share_of(self, activity: str, target: str) -> Share:
        """Return the share of one activity with one target."""
        return self.share(lambda *key: key == (activity, target))


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """The accounts of services whose requests wait or that were asked about, and of those that they wait for.

    The first are those that no other account waits for, the most waiting requests first. `services` are known without
    samples of threads too.
    """

    accounts: tuple[TimeAccount, ...] = ()
    services: ServiceMap = field(default_factory=ServiceMap)

    def find(self, service: Service) -> TimeAccount | None:
        """Return the account of a service."""
        return next((item for item in self.accounts if item.service.pids == service.pids), None)

    def list_chain(self, account: TimeAccount) -> list[TimeAccount]:
        """Return an account and those that it waits for, directly or through others, each once."""
        chain = [account]
        for item in chain:
            for callee in item.callees.values():
                below = self.find(callee)
                if below is not None and below not in chain:
                    chain.append(below)
        return chain


def read_service_times(view: HostView) -> ServiceTimes:
    """Return the time accounts of a view; none without samples of threads."""
    services = map_services(view)
    if not view.rows("process_time"):
        return ServiceTimes((), services)
    every = _build_accounts(view, services)
    roots = [item for item in every if item.waiting + item.queued > 0 or item.is_target]
    times = ServiceTimes(tuple(every), services)
    chosen = {id(item): item for root in roots for item in times.list_chain(root)}
    called = {
        callee.pids for item in chosen.values() for callee in item.callees.values() if callee != item.service
    }
    ordered = sorted(
        chosen.values(),
        key=lambda item: (
            not item.is_target,
            item.service.pids in called,
            -(item.waiting + item.queued),
            item.service.subject,
        ),
    )
    return ServiceTimes(tuple(ordered), services)


def _build_accounts(view: HostView, services: ServiceMap) -> list[TimeAccount]:
    rows = index_rows(view.rows("thread_time"))
    connections = index_rows(row for row in view.rows("tcp_waits") if row.text("comm") not in SESSIONS)
    listeners = index_rows(view.rows("listeners"))
    users = list_cpu_users(view)
    window_ms = get_window_ms(view.rows("process_time"))
    limits = read_throttled_groups(
        view.rows("cgroup_cpu"), services.services, view.seconds, view.cpus, window_ms
    )
    threads = [read_thread_amounts(service, rows, limits, window_ms) for service in services.services]
    busy = [
        _add_unanswered(_rows_of(connections, service), item)
        for service, item in zip(services.services, threads, strict=True)
    ]
    callees = [
        _list_callees(service, amounts, services)
        for service, amounts in zip(services.services, busy, strict=True)
    ]
    called = _count_calls(busy, callees)
    accounts = []
    for at, service in enumerate(services.services):
        load = _read_load(
            _rows_of(connections, service), _rows_of(listeners, service), called.get(service.pids, _NO_CALLS)
        )
        amounts, idle = _place_requests(load, busy[at], threads[at])
        accounts.append(
            TimeAccount(
                service, amounts, idle, load.waiting, load.queued, load.oldest_ms,
                int(sum_column(service.rows, "samples")), load.citations, callees[at], _is_target(view, service),
                _select_others(users, service) if (RUNNABLE, "") in amounts else (),
                sum(item.number for item in threads[at].busy.values()), threads[at].free,
            )
        )  # fmt: skip
    return accounts


@dataclass(frozen=True, slots=True)
class _Calls:
    """What local callers show about a service: requests that wait in it, and the longest wait."""

    number: float = 0.0
    longest_ms: float = 0.0
    citations: tuple[Citation, ...] = ()


_NO_CALLS = _Calls()


@dataclass(frozen=True, slots=True)
class _Load:
    waiting: float
    queued: float
    oldest_ms: float
    citations: tuple[Citation, ...]


def _rows_of(rows: Mapping[str, Sequence[TableRow]], service: Service) -> list[TableRow]:
    return [row for pid in sorted(service.pids) for row in rows.get(pid, ())]


def _add_unanswered(connections: Sequence[TableRow], threads: ThreadAmounts) -> Mapping[Key, Amount]:
    """Add requests to peers for which no thread waits, because an event loop waits for many of them at once."""
    amounts = dict(threads.busy)
    requested: dict[Key, list[TableRow]] = defaultdict(list)
    for row in connections:
        if row.text("direction") == "out":
            requested[PEER, normalize_target(row.text("peer"))].append(row)
    for key, rows in requested.items():
        unanswered = add_amounts(_count_unanswered(row) for row in rows)
        known = amounts.get(key)
        if known is None or unanswered.number > known.number:
            amounts[key] = replace(unanswered, operation=known.operation if known else "")
    return {key: amount for key, amount in amounts.items() if amount.number > 0}


def _count_unanswered(row: TableRow) -> Amount:
    """Return the requests that a peer owes. The bounds are those of the part of the samples in which it owed any."""
    number, samples = row.number("waiting") or 0.0, max(1, int(row.number("samples") or 0))
    part = min(1.0, (row.number("waiting_samples") or 0.0) / samples)
    low, high = wilson_interval(part, samples)
    while_any = number / part if part else number
    return Amount(
        number, min(number, while_any * low), max(number, while_any * high), samples, row.number("oldest") or 0.0,
        "", (row.citation,),
    )  # fmt: skip


def _list_callees(
    service: Service, amounts: Mapping[Key, Amount], services: ServiceMap
) -> Mapping[str, Service]:
    """Return the local services that a service waits for, by target; itself is none."""
    callees: dict[str, Service] = {}
    for activity, target in amounts:
        if activity == PEER:
            callee = services.find_by_target(target)
            if callee is not None and callee.pids != service.pids:
                callees[target] = callee
    return callees


def _count_calls(
    busy: Sequence[Mapping[Key, Amount]], callees: Sequence[Mapping[str, Service]]
) -> Mapping[frozenset[str], _Calls]:
    """Return what the callers of each local service show, by its processes."""
    amounts_by_callee: dict[frozenset[str], list[Amount]] = defaultdict(list)
    for amounts, targets in zip(busy, callees, strict=True):
        for target, callee in targets.items():
            amounts_by_callee[callee.pids].append(amounts[PEER, target])
    return {
        pids: _Calls(
            sum(item.number for item in items),
            max(item.longest_ms for item in items),
            tuple(citation for item in items for citation in item.citations),
        )
        for pids, items in amounts_by_callee.items()
    }


def _read_load(connections: Sequence[TableRow], listening: Sequence[TableRow], calls: _Calls) -> _Load:
    """Return the requests of a service: as its connections show them, or as its local callers do, if these are more."""
    inbound = [row for row in connections if row.text("direction") == "in"]
    waiting = sum_column(inbound, "waiting")
    queued = sum_column(inbound, "unread") + sum_column(listening, "queue_min")
    oldest = max((row.number("oldest") or 0.0 for row in inbound), default=0.0)
    citations = tuple(row.citation for row in (*inbound, *listening))
    if calls.number > waiting + queued:
        waiting, citations = calls.number - queued, (*citations, *calls.citations)
    return _Load(waiting, queued, max(oldest, calls.longest_ms), citations)


def _place_requests(
    load: _Load, busy: Mapping[Key, Amount], threads: ThreadAmounts
) -> tuple[Mapping[Key, Amount], Mapping[Key, Amount]]:
    """Return busy and idle amounts after requests that no busy thread holds are placed.

    Where serving threads are free, such a request waits in a thread that looks idle, and otherwise inside the process,
    unseen. Where none is free and one is always busy, it queues behind the busy ones, so its time is theirs.
    """
    idle = {**threads.idle, **threads.ambiguous}
    held = sum(amount.number for amount in busy.values())
    unplaced = load.waiting - held
    is_saturated = threads.free < IDLE_SERVER and held >= BUSY_SERVER
    if unplaced <= 0 or is_saturated:
        return busy, idle
    candidates = {key: amount for key, amount in threads.ambiguous.items() if amount.number > 0}
    available = sum(amount.number for amount in candidates.values())
    part = min(1.0, unplaced / available) if available else 0.0
    amounts = dict(busy)
    for key, amount in candidates.items():
        others = available - amount.number
        amounts[key] = Amount(
            part * amount.number, max(0.0, min(unplaced, available) - others), min(unplaced, amount.high),
            amount.samples, amount.longest_ms, amount.operation, amount.citations,
        )  # fmt: skip
        idle[key] = _subtract(amount, part * amount.number)
    if unplaced > available:
        unseen = unplaced - available
        known = amounts.get((UNKNOWN, ""))
        more = known.number if known else 0.0
        amounts[UNKNOWN, ""] = Amount(unseen + more, unseen, unseen + more, 0, 0.0, "", load.citations[:1])
    return amounts, idle


def _subtract(amount: Amount, number: float) -> Amount:
    rest = max(0.0, amount.number - number)
    return Amount(
        rest,
        0.0,
        max(rest, amount.high),
        amount.samples,
        amount.longest_ms,
        amount.operation,
        amount.citations,
    )


def _select_others(users: Sequence[CpuUser], service: Service) -> tuple[CpuUser, ...]:
    """Return the processes outside of a service that used most CPU time, the most first."""
    return tuple([user for user in users if user.pid not in service.pids][:MAX_CPU_USERS])


def list_cpu_users(view: HostView) -> list[CpuUser]:
    """Return all processes that used CPU time, the most first."""
    kind, column = ("processes", "cpu") if view.rows("processes") else ("process_time", "run_ms")
    used = [(amount, row) for row in view.rows(kind) if (amount := row.number(column) or 0.0) > 0]
    total = sum(amount for amount, _ in used)
    used.sort(key=lambda pair: (-pair[0], pair[1].text("pid")))
    return [CpuUser(row.text("comm"), row.text("pid"), amount / total, row.citation) for amount, row in used]


def _is_target(view: HostView, service: Service) -> bool:
    """Return whether the capture was asked about this service."""
    target = view.target
    if target.get("kind") in (None, "host"):
        return False
    if str(target.get("pid")) in service.pids:
        return True
    group = target.get("cgroup")
    inside = isinstance(group, str) and group not in ("", "/") and service.group != ""
    return (
        target.get("kind") == "cgroup" and inside and is_inside_group(service.group, str(group).rstrip("/"))
    )

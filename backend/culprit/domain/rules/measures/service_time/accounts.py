"""Time accounts: where the requests of a service spend their time, along the calls between services of a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.places import is_inside_group, read_cpu_pct
from culprit.domain.rules.measures.service_time.activities import CLIENT, HELD, RUNNABLE
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, Share, add_amounts, compute_share
from culprit.domain.rules.measures.service_time.requests import (
    NO_CALLS,
    RequestLoad,
    ServiceCalls,
    add_transfers,
    add_unanswered,
    add_unix_calls,
    claim_sockets,
    count_calls,
    count_unanswered,
    list_callees,
    list_unix_links,
    place_requests,
    read_load,
    release_polls,
    resolve_polls,
    select_rows,
)
from culprit.domain.rules.measures.service_time.services import (
    SESSIONS,
    LocalService,
    ServiceMap,
    index_rows,
    map_services,
    normalize_target,
    sum_column,
)
from culprit.domain.rules.measures.service_time.sessions import divide_by_sessions
from culprit.domain.rules.measures.service_time.sources import cite_services
from culprit.domain.rules.measures.service_time.stopped import find_stopped, stop_requests, stop_threads
from culprit.domain.rules.measures.service_time.thread_amounts import (
    MOST_THREADS,
    ThreadAmounts,
    add_file_waits,
    add_lookups,
    get_window_ms,
    read_thread_amounts,
    read_throttled_groups,
)
from culprit.domain.rules.view import HostView, TableRow

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
    that no thread has taken, `unaccepted` those of them whose connection nothing has accepted yet, `oldest_ms` the
    longest wait of one. `callees` are the accounts of local services that it
    waits for, by target. `ran_instead` are the processes that used most CPU time, if its threads waited for a CPU.
    `busy_threads` are threads that work or wait for what they need, and while requests queue also those that a silent
    connection holds; `free_threads` are idle ones that can take a request.
    `citations` are the requests, `sources` all rows that the account is computed from.
    """

    service: LocalService
    amounts: Mapping[Key, Amount]
    idle: Mapping[Key, Amount]
    waiting: float = 0.0
    queued: float = 0.0
    oldest_ms: float = 0.0
    samples: int = 0
    citations: tuple[Citation, ...] = ()
    callees: Mapping[str, LocalService] = field(default_factory=dict)
    is_target: bool = False
    ran_instead: tuple[CpuUser, ...] = ()
    busy_threads: float = 0.0
    free_threads: float = 0.0
    sources: tuple[Citation, ...] = ()
    unaccepted: float = 0.0

    @property
    def accepted(self) -> float:
        """The mean number of requests on connections that the service has accepted, read to the end or not."""
        return self.waiting + self.queued - self.unaccepted

    @property
    def total(self) -> float:
        """The mean number of threads and requests that are busy."""
        return sum(amount.number for amount in self.amounts.values())

    @property
    def covered(self) -> float:
        """The part of the time of requests that the threads account for, 0 to 1.

        Requests that queue in front of busy threads wait for what these threads do. While most threads are free,
        requests queue for a reason that no thread shows, such as a limit of open files.
        """
        every = self.busy_threads + self.free_threads
        if not self.queued or (every > 0 and self.busy_threads >= MOST_THREADS * every):
            return 1.0
        return self.total / (self.total + self.queued)

    def share(self, is_part: Callable[[str, str], bool]) -> Share:
        """Return the share that `is_part` selects by activity and target, in the time that is not idle."""
        return compute_share(self.amounts, is_part).scale(self.covered)

    def share_of(self, activity: str, target: str) -> Share:
        """Return the share of one activity with one target."""
        return self.share(lambda *key: key == (activity, target))


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """The accounts of services whose requests wait or that were asked about, and of those that they wait for.

    A request waits too if a sample found it in a queue. The first accounts are those that no other one waits for, the
    most waiting requests first. `services` are known without samples of threads too.
    """

    accounts: tuple[TimeAccount, ...] = ()
    services: ServiceMap = field(default_factory=ServiceMap)

    def find(self, service: LocalService) -> TimeAccount | None:
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
    queues = {row.text("pid") for row in view.rows("listeners") if (row.number("queue_max") or 0.0) > 1}
    roots = [
        item
        for item in every
        if item.waiting + item.queued > 0 or item.is_target or item.service.pids & queues
    ]
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
    stopped = find_stopped(view, services)
    rows = stop_threads(index_rows(view.rows("thread_time")), stopped)
    connections = index_rows(row for row in view.rows("tcp_waits") if row.text("comm") not in SESSIONS)
    users = list_cpu_users(view)
    window_ms = get_window_ms(view.rows("process_time"))
    limits = read_throttled_groups(view.rows("cgroup_cpu"), services.services, view.cpus, window_ms)
    threads = []
    for service in services.services:
        mine = select_rows(connections, service)
        seen = read_thread_amounts(service, rows, limits, window_ms)
        threads.append(resolve_polls(claim_sockets(release_polls(seen, mine), mine)))
    busy = [
        add_unanswered(select_rows(connections, service), item)
        for service, item in zip(services.services, threads, strict=True)
    ]
    busy, callees, loads = _connect(view, services, threads, busy, connections)
    links = [
        (service, callee)
        for service, targets in zip(services.services, callees, strict=True)
        for callee in targets.values()
    ]
    sources = cite_services(view, services.services, links)
    accounts = []
    for at, service in enumerate(services.services):
        load = add_transfers(loads[at], threads[at])
        amounts, idle = place_requests(load, busy[at], threads[at])
        amounts = divide_by_sessions(view, service, amounts)
        amounts = add_file_waits(add_lookups(view.rows("dns_waits"), service, amounts))
        if service.pids <= stopped:
            amounts = stop_requests(amounts)
        # While connections queue, a thread that waits for the data of another one is not free.
        held = min(threads[at].held, threads[at].free) if load.queued else 0.0
        if load.unaccepted >= 1:
            amounts, idle = _hold_threads(amounts, idle, held)
        accounts.append(
            TimeAccount(
                service, amounts, idle, load.waiting, load.queued, load.oldest_ms,
                int(sum_column(service.rows, "samples")), load.citations, callees[at], _is_target(view, service),
                _select_others(users, service) if (RUNNABLE, "") in amounts else (),
                sum(item.number for item in threads[at].busy.values()) + held, threads[at].free - held,
                sources[service.pids], load.unaccepted,
            )
        )  # fmt: skip
    return accounts


def _hold_threads(
    amounts: Mapping[Key, Amount], idle: Mapping[Key, Amount], held: float
) -> tuple[Mapping[Key, Amount], Mapping[Key, Amount]]:
    """Return busy and idle amounts with so many threads that wait for data of their clients among the busy ones.

    While connections always wait to be accepted, their time is that of the threads that would accept them.
    """
    waiting = {key: amount for key, amount in idle.items() if key[0] == CLIENT}
    total = sum(amount.number for amount in waiting.values())
    if held <= 0 or total <= 0:
        return amounts, idle
    number = min(held, total)
    every = add_amounts(waiting.values())
    rest = {
        key: replace(amount, number=amount.number * (1 - number / total)) for key, amount in waiting.items()
    }
    part = replace(every, number=number, low=min(every.low, number), high=min(every.high, number))
    return {**amounts, (HELD, ""): part}, {**idle, **rest}


def _connect(
    view: HostView,
    services: ServiceMap,
    threads: Sequence[ThreadAmounts],
    busy: Sequence[Mapping[Key, Amount]],
    connections: Mapping[str, Sequence[TableRow]],
) -> tuple[list[Mapping[Key, Amount]], list[Mapping[str, LocalService]], list[RequestLoad]]:
    """Return the busy amounts with calls over Unix sockets, the local services that are called, and the requests."""
    listeners = index_rows(view.rows("listeners"))

    def measure(
        amounts: Sequence[Mapping[Key, Amount]],
    ) -> tuple[list[Mapping[str, LocalService]], list[RequestLoad]]:
        callees = [list_callees(*item, services) for item in zip(services.services, amounts, strict=True)]
        called = _add_unowned_calls(count_calls(amounts, callees), view.rows("tcp_waits"), services)
        return callees, [
            read_load(
                select_rows(connections, service),
                select_rows(listeners, service),
                called.get(service.pids, NO_CALLS),
                item,
            )
            for service, item in zip(services.services, threads, strict=True)
        ]

    _, loads = measure(busy)
    numbers = {
        service.pids: sum(amount.number for amount in amounts.values())
        for service, amounts in zip(services.services, busy, strict=True)
    }
    links = list_unix_links(view.rows("unix_calls"), services, numbers)
    linked = [
        add_unix_calls(load, amounts, item, links.get(service.pids, ()))
        for load, amounts, item, service in zip(loads, busy, threads, services.services, strict=True)
    ]
    return linked, *measure(linked)


def _add_unowned_calls(
    called: Mapping[frozenset[str], ServiceCalls], rows: Sequence[TableRow], services: ServiceMap
) -> Mapping[frozenset[str], ServiceCalls]:
    """Return the calls of services with those whose caller is not known: its socket closed before it was looked up."""
    result = dict(called)
    for row in rows:
        if row.number("pid") or row.text("direction") != "out" or not row.number("waiting"):
            continue
        callee = services.find_by_target(normalize_target(row.text("peer")))
        if callee is not None:
            known, amount = result.get(callee.pids, NO_CALLS), count_unanswered(row)
            result[callee.pids] = ServiceCalls(
                known.number + amount.number,
                max(known.longest_ms, amount.longest_ms),
                (*known.citations, *amount.citations),
            )
    return result


def _select_others(users: Sequence[CpuUser], service: LocalService) -> tuple[CpuUser, ...]:
    """Return the processes outside of a service that used most CPU time, the most first."""
    return tuple([user for user in users if user.pid not in service.pids][:MAX_CPU_USERS])


def list_cpu_users(view: HostView) -> list[CpuUser]:
    """Return all processes that used CPU time, the most first."""
    if listed := view.rows("processes"):
        amounts = [(read_cpu_pct(row), row) for row in listed]
    else:
        amounts = [(row.number("run_ms") or 0.0, row) for row in view.rows("process_time")]
    used = [(amount, row) for amount, row in amounts if amount > 0]
    total = sum(amount for amount, _ in used)
    used.sort(key=lambda pair: (-pair[0], pair[1].text("pid")))
    return [CpuUser(row.text("comm"), row.text("pid"), amount / total, row.citation) for amount, row in used]


def _is_target(view: HostView, service: LocalService) -> bool:
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

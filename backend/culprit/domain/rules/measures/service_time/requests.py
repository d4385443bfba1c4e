"""Requests of services: how many wait, where an event loop passed them on, and in which threads they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.intervals import bound_mean
from culprit.domain.rules.measures.service_time.activities import CLIENT, PEER, UNKNOWN
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, add_amounts
from culprit.domain.rules.measures.service_time.services import (
    LocalService,
    ServiceMap,
    normalize_target,
    sum_column,
)
from culprit.domain.rules.measures.service_time.thread_amounts import BUSY_SERVER, MOST_THREADS, ThreadAmounts
from culprit.domain.rules.view import TableRow
from culprit.domain.statistics.intervals import wilson_interval

#: Fewer idle serving threads than this, on average, mean that the next request finds none.
IDLE_SERVER = 0.5
#: A server with a thread for each request has at least so many threads in condition variables for a request that no
#: busy thread holds: threads start and end in the capture, and requests whose clients have gone still count. There are
#: so many times as many as busy ones: they are not the background threads of a runtime.
_THREAD_EACH = 0.5
_OUTNUMBERED = 10.0
_SEVERAL = 2.0
#: System calls that show no descriptor: the collector guesses which socket of the process they wait for.
_POLLS = frozenset(("poll", "ppoll"))
#: System calls that move data of a file to a client, and what they wait for at the file.
_TRANSFERS = frozenset(("sendfile", "sendfile64", "splice"))
_STORAGE = frozenset(("disk", "fault", "filesystem"))
RECEIVES = frozenset(("read", "readv", "recvfrom", "recvmsg", "recv"))


@dataclass(frozen=True, slots=True)
class ServiceCalls:
    """What local callers show about a service: requests that wait in it, and the longest wait."""

    number: float = 0.0
    longest_ms: float = 0.0
    citations: tuple[Citation, ...] = ()


NO_CALLS = ServiceCalls()


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """The requests of a service: taken, queued (`unaccepted` of them in accept queues), and the longest wait."""

    waiting: float
    queued: float
    unaccepted: float
    oldest_ms: float
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class UnixLink:
    """Connections of a service to a socket path, and the busy threads of the service behind it."""

    path: str
    connections: float
    busy: float
    citation: Citation


def select_rows(rows: Mapping[str, Sequence[TableRow]], service: LocalService) -> list[TableRow]:
    return [row for pid in sorted(service.pids) for row in rows.get(pid, ())]


def add_unanswered(connections: Sequence[TableRow], threads: ThreadAmounts) -> Mapping[Key, Amount]:
    """Add requests to peers for which no thread waits, because an event loop waits for many of them at once."""
    amounts = dict(threads.busy)
    requested: dict[Key, list[TableRow]] = defaultdict(list)
    for row in connections:
        if row.text("direction") == "out":
            requested[PEER, normalize_target(row.text("peer"))].append(row)
    for key, rows in requested.items():
        unanswered = add_amounts(count_unanswered(row) for row in rows)
        known = amounts.get(key)
        if known is None or unanswered.number > known.number:
            amounts[key] = replace(unanswered, operation=known.operation if known else "")
    return {key: amount for key, amount in amounts.items() if amount.number > 0}


def release_polls(threads: ThreadAmounts, connections: Sequence[TableRow]) -> ThreadAmounts:
    """Return the amounts of threads with polls that wait for the next request of a client moved to the idle ones.

    A poll shows no descriptor, so that a worker with a connection to a client and one to a peer may wait for either. No
    more of them wait for the peer than it owes answers, or than clients of the service wait for one.
    """
    inbound = [row for row in connections if row.text("direction") == "in"]
    if not inbound:
        return threads
    busy, released = dict(threads.busy), []
    for key, amount in threads.busy.items():
        requested = [
            row
            for row in connections
            if row.text("direction") == "out" and normalize_target(row.text("peer")) == key[1]
        ]
        if key[0] != PEER or amount.operation not in _POLLS or not requested:
            continue
        owed, most = (max(pair) for pair in zip(_count_owed(inbound), _count_owed(requested), strict=True))
        if amount.number <= most:
            continue
        longest_ms = max(row.number("oldest") or 0.0 for row in requested)
        busy[key] = replace(amount, number=owed, low=min(amount.low, owed), high=most, longest_ms=longest_ms)
        released.append(
            replace(amount, number=amount.number - owed, low=amount.number - most, longest_ms=0.0)
        )
    if not released:
        return threads
    known = threads.idle.get((CLIENT, ""))
    client = add_amounts([*released, known] if known else released)
    number = sum(item.number for item in released)
    return replace(
        threads,
        busy=busy,
        idle={**threads.idle, (CLIENT, ""): client},
        free=threads.free + number,
        held=threads.held + number,
    )


def claim_sockets(threads: ThreadAmounts, connections: Sequence[TableRow]) -> ThreadAmounts:
    """Return the amounts of threads with receives on sockets of unknown address counted as waits for peers.

    Addresses are read once in a while, so that short connections have none. As many such threads wait for a peer as it
    owes answers that no other thread waits for.
    """
    unknown = threads.idle.get(("events", "socket"))
    if unknown is None or unknown.operation not in RECEIVES:
        return threads
    owed: dict[Key, float] = defaultdict(float)
    for row in connections:
        if row.text("direction") == "out":
            owed[PEER, normalize_target(row.text("peer"))] += row.number("waiting") or 0.0
    none = Amount(0.0, 0.0, 0.0)
    missing = {
        key: number - threads.busy.get(key, none).number
        for key, number in owed.items()
        if number > threads.busy.get(key, none).number
    }
    part = min(1.0, unknown.number / sum(missing.values())) if missing else 0.0
    claimed = part * sum(missing.values())
    if claimed <= 0:
        return threads
    busy = dict(threads.busy)
    for key, number in missing.items():
        mine = replace(unknown, number=part * number, low=0.0, high=part * number)
        busy[key] = add_amounts((busy[key], mine)) if key in busy else mine
    rest = replace(unknown, number=unknown.number - claimed, low=0.0)
    return replace(
        threads,
        busy=busy,
        idle={**threads.idle, ("events", "socket"): rest},
        free=max(0.0, threads.free - claimed),
    )


def accepts_for_itself(threads: ThreadAmounts) -> bool:
    """Return whether each worker accepts the connections that it serves: most idle threads, several, are in accept().

    Such a worker holds no connection but the one that it serves, so a request on an accepted connection is in its
    hands, whether or not it has read all of it: FastCGI leaves the end of the input unread. In a pool behind one
    acceptor, accepted connections queue, and where all workers are busy the acceptor is the only idle thread.
    """
    accepting = sum(amount.number for (activity, _), amount in threads.idle.items() if activity == "accept")
    return accepting >= _SEVERAL and accepting > MOST_THREADS * threads.free


def resolve_polls(threads: ThreadAmounts) -> ThreadAmounts:
    """Return the amounts of workers that accept for themselves, with polls on unknown sockets counted as waits.

    Such a worker is idle in accept() and nowhere else, so that a poll is part of a request. Sockets are looked up once
    in a while, so that short ones are unknown. Unknown polls wait for what the known ones wait for, or for
    something that nothing shows.
    """
    unknown = threads.idle.get(("events", ""))
    if unknown is None or unknown.operation not in _POLLS or not accepts_for_itself(threads):
        return threads
    known = {key: amount for key, amount in threads.busy.items() if amount.operation in _POLLS}
    total = sum(amount.number for amount in known.values())
    idle = {key: amount for key, amount in threads.idle.items() if key != ("events", "")}
    free = max(0.0, threads.free - unknown.number)
    if total <= 0:
        ambiguous = {**threads.ambiguous, ("events", ""): unknown}
        return replace(threads, idle=idle, free=free, ambiguous=ambiguous)
    busy = dict(threads.busy)
    for key, amount in known.items():
        number, low, high = (
            amount.number / total * bound for bound in (unknown.number, unknown.low, unknown.high)
        )
        busy[key] = add_amounts((amount, replace(unknown, number=number, low=low, high=high)))
    return replace(threads, busy=busy, idle=idle, free=free)


def add_transfers(load: RequestLoad, threads: ThreadAmounts) -> RequestLoad:
    """Return the requests, at least as many as threads that wait for a disk while they send a file to a client.

    Counters of a connection show no request any more once a part of the answer was sent.
    """
    sending = sum(
        amount.number
        for (activity, _), amount in threads.busy.items()
        if activity in _STORAGE and amount.operation in _TRANSFERS
    )
    return replace(load, waiting=max(load.waiting, sending))


def _count_owed(rows: Sequence[TableRow]) -> tuple[float, float]:
    """Return how many requests were unanswered or not acknowledged on connections, on average and at most."""
    connections = sum_column(rows, "connections")
    if connections <= 0:
        return 0.0, 0.0
    owed = sum(sum_column(rows, name) for name in ("waiting", "unsent", "unread"))
    seen = sum((row.number("connections") or 0.0) * (row.number("samples") or 0.0) for row in rows)
    high = wilson_interval(min(1.0, owed / connections), max(1, round(seen)))[1]
    return owed, max(owed, connections * high)


def count_unanswered(row: TableRow) -> Amount:
    """Return the requests that a peer owes. The bounds are those of the part of the samples in which it owed any."""
    number, samples = row.number("waiting") or 0.0, max(1, int(row.number("samples") or 0))
    part = min(1.0, (row.number("waiting_samples") or 0.0) / samples)
    low, high = wilson_interval(part, samples)
    while_any = number / part if part else number
    return Amount(
        number, min(number, while_any * low), max(number, while_any * high), samples, row.number("oldest") or 0.0,
        "", (row.citation,),
    )  # fmt: skip


def list_callees(
    service: LocalService, amounts: Mapping[Key, Amount], services: ServiceMap
) -> Mapping[str, LocalService]:
    """Return the local services that a service waits for, by target; itself is none."""
    callees: dict[str, LocalService] = {}
    for activity, target in amounts:
        if activity == PEER:
            callee = services.find_by_target(target)
            if callee is not None and callee.pids != service.pids:
                callees[target] = callee
    return callees


def count_calls(
    busy: Sequence[Mapping[Key, Amount]], callees: Sequence[Mapping[str, LocalService]]
) -> Mapping[frozenset[str], ServiceCalls]:
    """Return what the callers of each local service show, by its processes."""
    amounts_by_callee: dict[frozenset[str], list[Amount]] = defaultdict(list)
    for amounts, targets in zip(busy, callees, strict=True):
        for target, callee in targets.items():
            amounts_by_callee[callee.pids].append(amounts[PEER, target])
    return {
        pids: ServiceCalls(
            sum(item.number for item in items),
            max(item.longest_ms for item in items),
            tuple(citation for item in items for citation in item.citations),
        )
        for pids, items in amounts_by_callee.items()
    }


def read_load(
    connections: Sequence[TableRow],
    listening: Sequence[TableRow],
    calls: ServiceCalls,
    threads: ThreadAmounts,
) -> RequestLoad:
    """Return the requests of a service: as its connections show them, or as its local callers do, if these are more."""
    inbound = [row for row in connections if row.text("direction") == "in"]
    waiting, unread = sum_column(inbound, "waiting"), sum_column(inbound, "unread")
    if accepts_for_itself(threads):
        waiting, unread = waiting + unread, 0.0
    unaccepted = sum(map(_count_queued, listening))
    queued = unread + unaccepted
    oldest = max((row.number("oldest") or 0.0 for row in inbound), default=0.0)
    citations = tuple(row.citation for row in (*inbound, *listening))
    if calls.number > waiting + queued:
        waiting, citations = calls.number - queued, (*citations, *calls.citations)
    return RequestLoad(waiting, queued, unaccepted, max(oldest, calls.longest_ms), citations)


def _count_queued(row: TableRow) -> float:
    """Return how many connections wait in a queue on average, at least: the lower bound of the mean of its samples."""
    least, mean = row.number("queue_min") or 0.0, row.number("queue_mean")
    deviation, samples = row.number("queue_deviation"), row.number("samples")
    if mean is None or deviation is None or samples is None:
        return least
    return max(least, bound_mean(mean, deviation, samples)[0])


def place_requests(
    load: RequestLoad, busy: Mapping[Key, Amount], threads: ThreadAmounts
) -> tuple[Mapping[Key, Amount], Mapping[Key, Amount]]:
    """Return busy and idle amounts after requests that no busy thread holds are placed.

    Where serving threads are free, such a request waits in a thread that looks idle, and otherwise inside the process,
    unseen. It queues behind the busy threads, so that its time is theirs, where none is free and one is always busy, or
    where most are busy and none looks idle. It queues for a look-up too where all threads that ever look up names are
    always busy with that: a pool of threads resolves them for an event loop, which waits for many at once. A server
    with a thread for each request has about as many threads as requests, and none of them queues. Where no
    thread of the service was sampled, nothing shows what its requests wait for, those in queues included.
    """
    idle = {**threads.idle, **threads.ambiguous}
    if not busy and not idle:
        number = load.waiting + load.queued
        unknown = Amount(number, number, number, 0, load.oldest_ms, "", load.citations[:1])
        return ({(UNKNOWN, ""): unknown} if number > 0 else {}), idle
    held = sum(amount.number for amount in busy.values())
    unplaced = load.waiting - held
    candidates = _sum_by_activity(threads.ambiguous)
    available = sum(amount.number for amount in candidates.values())
    blocked = sum(amount.number for (activity, _), amount in candidates.items() if activity == "condition")
    is_thread_each = blocked >= max(_THREAD_EACH * unplaced, _OUTNUMBERED * held)
    is_saturated = threads.free < IDLE_SERVER and held >= BUSY_SERVER and not is_thread_each
    if unplaced <= 0 or is_saturated or threads.resolvers_busy:
        return busy, idle
    part = min(1.0, unplaced / available) if available else 0.0
    amounts = dict(busy)
    for key, amount in candidates.items():
        others = available - amount.number
        amounts[key] = replace(
            amount,
            number=part * amount.number,
            low=max(0.0, min(unplaced, available) - others),
            high=min(unplaced, amount.number),
        )
    idle |= {
        key: replace(amount, number=(1 - part) * amount.number, low=0.0)
        for key, amount in threads.ambiguous.items()
    }
    working = sum(amount.number for amount in threads.busy.values())
    is_crowded = working >= BUSY_SERVER and working >= MOST_THREADS * (working + threads.free + available)
    if unplaced > available and not is_crowded:
        unseen = unplaced - available
        known = amounts.get((UNKNOWN, ""))
        more = known.number if known else 0.0
        amounts[UNKNOWN, ""] = Amount(unseen + more, unseen, unseen + more, 0, 0.0, "", load.citations[:1])
    return amounts, idle


def _sum_by_activity(amounts: Mapping[Key, Amount]) -> Mapping[Key, Amount]:
    """Return amounts without their targets, unless an activity has one target only: any of them may hold a request."""
    grouped: dict[str, dict[Key, Amount]] = defaultdict(dict)
    for key, amount in amounts.items():
        if amount.number > 0:
            grouped[key[0]][key] = amount
    return {
        next(iter(items)) if len(items) == 1 else (activity, ""): add_amounts(items.values())
        for activity, items in grouped.items()
    }


def add_unix_calls(
    load: RequestLoad, busy: Mapping[Key, Amount], threads: ThreadAmounts, links: Sequence[UnixLink]
) -> Mapping[Key, Amount]:
    """Add requests that an event loop has passed on over Unix sockets, whose unanswered data no counter shows.

    At most as many as it has in progress, as it has connections, and as the other side has busy threads.
    """
    unplaced = load.waiting - sum(amount.number for amount in busy.values())
    available = sum(amount.number for amount in threads.ambiguous.values())
    amounts = dict(busy)
    for link in links:
        number = min(unplaced, link.connections, link.busy)
        key = PEER, link.path
        if number > 0 and key not in amounts:
            amounts[key] = Amount(
                number, max(0.0, number - available), number, 0, load.oldest_ms, "", (link.citation,)
            )
            unplaced -= number
    return amounts


def list_unix_links(
    rows: Sequence[TableRow], services: ServiceMap, busy: Mapping[frozenset[str], float]
) -> Mapping[frozenset[str], list[UnixLink]]:
    """Return the Unix connections between services, by the processes of the caller."""
    links: dict[frozenset[str], dict[str, UnixLink]] = defaultdict(dict)
    for row in rows:
        caller, callee = (
            services.find_by_pid(str(int(row.number(name) or 0))) for name in ("pid", "peer_pid")
        )
        if caller is None or callee is None or caller.pids == callee.pids:
            continue
        path, count = row.text("path"), row.number("connections") or 0.0
        known = links[caller.pids].get(path)
        more = known.connections if known else 0.0
        links[caller.pids][path] = UnixLink(path, count + more, busy.get(callee.pids, 0.0), row.citation)
    return {pids: list(by_path.values()) for pids, by_path in links.items()}

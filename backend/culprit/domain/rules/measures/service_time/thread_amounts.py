"""Amounts of one service from samples of its threads: `process_time` for each process, `thread_time` for each activity.

Time on a CPU and in its queue is counted by the kernel; a thread that a quota holds back may be seen runnable without
being counted, so the larger of both is taken. The rest of the time of a process is divided by the samples of
its threads. The amounts of a service add up to the mean number of its threads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.service_time.activities import (
    AMBIGUOUS,
    CLIENT,
    DNS,
    EXACT,
    INSIDE_WAITS,
    LOCK,
    RUNNABLE,
    RUNNING,
    THROTTLED,
    UNKNOWN,
    classify_activity,
)
from culprit.domain.rules.measures.service_time.amounts import Amount, Key, add_amounts, bound_sampled
from culprit.domain.rules.measures.service_time.services import LocalService, normalize_target, sum_column
from culprit.domain.rules.view import TableRow
from culprit.domain.statistics.intervals import wilson_interval

#: Threads are sampled one after the other, so that one that never woke was seen asleep for a little less than all time.
_NEARLY_ALL = 0.95
_POLLS = frozenset(("poll", "ppoll", "select", "pselect6"))
#: Less than this is one thread: the rest is background work.
_SINGLE_THREAD = 1.5
#: One for the address of each kind, A and AAAA, at the same time.
QUERIES_OF_LOOKUP = 2
#: Busy threads on average from which on one is busy nearly always: a request then waits nine service times (M/M/1).
BUSY_SERVER = 0.9
#: With at least so many of its threads busy, requests queue for what the threads do: more of them are busy than free.
MOST_THREADS = 0.5


@dataclass(frozen=True, slots=True)
class ThreadAmounts:
    """What the threads of a service do: busy, idle, and ambiguous (idle or holding a request).

    `free` are idle threads that can take a request. The parent of worker processes never takes one. `held` are those of
    them that wait for data of one client: they take its next request, and no other connection. `resolvers_busy` is
    whether all threads that look up names do so nearly all the time.
    """

    busy: Mapping[Key, Amount]
    idle: Mapping[Key, Amount]
    ambiguous: Mapping[Key, Amount]
    free: float = 0.0
    held: float = 0.0
    resolvers_busy: bool = False


def read_thread_amounts(
    service: LocalService,
    rows: Mapping[str, Sequence[TableRow]],
    throttled: ThrottledGroups,
    window_ms: float,
) -> ThreadAmounts:
    """Return the amounts of a service. `rows` are those of `thread_time` by pid."""
    parts: dict[str, dict[Key, list[Amount]]] = {
        "busy": defaultdict(list), "idle": defaultdict(list), "ambiguous": defaultdict(list)
    }  # fmt: skip
    parents = {row.text("ppid") for row in service.rows}
    free = held = 0.0
    for process in service.rows:
        for kind, key, amount in _read_process(process, rows.get(process.text("pid"), ()), window_ms):
            parts[kind][key].append(amount)
            if kind == "idle" and process.text("pid") not in parents:
                free += amount.number
                held += amount.number if key[0] == CLIENT else 0.0
        free -= _count_never_woken(rows.get(process.text("pid"), ()), window_ms)
    sums = {
        kind: {key: add_amounts(items) for key, items in by_key.items()} for kind, by_key in parts.items()
    }
    busy = throttled.split(service.group, sums["busy"])
    every = [row for process in service.rows for row in rows.get(process.text("pid"), ())]
    return ThreadAmounts(
        busy, sums["idle"], sums["ambiguous"], max(0.0, free), held, _are_resolvers_busy(every, busy)
    )


def _are_resolvers_busy(rows: Sequence[TableRow], busy: Mapping[Key, Amount]) -> bool:
    """Return whether the threads that ever look up names may always do so: samples show it for most of the time."""
    resolvers = sum_column((row for row in rows if row.text("activity") == DNS), "threads")
    waiting = [amount for (activity, _), amount in busy.items() if activity == DNS]
    most = sum(amount.number for amount in waiting) >= MOST_THREADS * resolvers
    return resolvers > 0 and most and sum(amount.high for amount in waiting) >= BUSY_SERVER * resolvers


def _count_never_woken(rows: Sequence[TableRow], window_ms: float) -> int:
    """Return how many threads slept through the whole window waiting for events of no listening socket.

    Such a thread takes no requests: it serves signals, timers or a debugger.
    """
    return sum(
        int((row.number("exact_ms") or 0.0) / (_NEARLY_ALL * window_ms))
        for row in rows
        if row.text("activity") == "events"
        and not row.text("target")
        and window_ms > 0
        and (row.number("longest_ms") or 0.0) >= _NEARLY_ALL * window_ms
    )


def get_window_ms(rows: Sequence[TableRow]) -> float:
    """Return how long threads were sampled: as long as the process that was there longest."""
    return max(((row.number("wall_ms") or 0.0) / (row.number("threads") or 1.0) for row in rows), default=0.0)


def _read_process(
    process: TableRow, rows: Sequence[TableRow], window: float
) -> Iterator[tuple[str, Key, Amount]]:
    wall, run, wait = (process.number(name) or 0.0 for name in ("wall_ms", "run_ms", "wait_ms"))
    if window <= 0:
        return
    cite = (process.citation,)
    wait = min(max(wait, _sum_time(rows, RUNNABLE)), max(0.0, wall - run))
    for activity, spent in ((RUNNING, run), (RUNNABLE, wait)):
        if spent > 0:
            number = spent / window
            yield "busy", (activity, ""), Amount(number, number, number, citations=cite)
    sampled = [row for row in rows if row.text("activity") not in EXACT]
    rest = max(0.0, wall - run - wait) / window
    weights = [row.number("time_ms") or 0.0 for row in sampled]
    total, samples = sum(weights), int(sum_column(sampled, "samples"))
    if not total:
        if rest > 0:
            yield "ambiguous", (UNKNOWN, ""), Amount(rest, 0.0, rest, citations=cite)
        return
    inner = _list_inner_polls(sampled, (run + wait) / window, rest / total)
    for row, weight in zip(sampled, weights, strict=True):
        number, seen = rest * weight / total, int(row.number("samples") or 0)
        low, high = _read_bounds(row, number, rest) or bound_sampled(number, seen, samples, rest)
        operation = row.text("detail")
        activity = "pipe" if row in inner else row.text("activity")
        key = activity, normalize_target(row.text("target"))
        amount = Amount(
            number, low, high, seen, row.number("longest_ms") or 0.0, operation, (row.citation, *cite)
        )
        yield classify_activity(activity, operation), key, amount


def _list_inner_polls(rows: Sequence[TableRow], awake: float, per_ms: float) -> list[TableRow]:
    """Return polls that an event loop calls while it handles an event, such as for the two pipes of a child.

    A loop always waits for its events in the same call. Where one thread waits in epoll_wait at times and in a poll of
    several descriptors at others, the latter is a wait inside of the loop. Two threads would have twice the time.
    """
    events = [row for row in rows if row.text("activity") == "events"]
    polls = [
        row for row in events if row.text("detail") in _POLLS and normalize_target(row.text("target")) == ""
    ]
    is_single = awake + per_ms * sum_column(events, "time_ms") < _SINGLE_THREAD
    return polls if is_single and any(row.text("detail").startswith("epoll") for row in events) else []


def _read_bounds(row: TableRow, number: float, rest: float) -> tuple[float, float] | None:
    """Return the bounds that the collector computed, where it knows how much of the time was not estimated."""
    error, spent, exact = (row.number(name) for name in ("error_ms", "time_ms", "exact_ms"))
    if error is None or not spent:
        return None
    part = number * error / spent
    return max(number * (exact or 0.0) / spent, number - part, 0.0), min(max(rest, number), number + part)


def _sum_time(rows: Sequence[TableRow], activity: str) -> float:
    return sum_column((row for row in rows if row.text("activity") == activity), "time_ms")


def add_lookups(
    queries: Sequence[TableRow], service: LocalService, amounts: Mapping[Key, Amount]
) -> Mapping[Key, Amount]:
    """Return the amounts of a service with look-ups of names that no thread of it waits for.

    Runtimes with an event loop (Go, Node with its own resolver) send a query and continue, so their threads look idle.
    The table `dns_waits` has the mean number of open queries of its user, or of their owner where it is known. A
    look-up sends two at once, for A and AAAA (getaddrinfo(3), RFC 8305), and at least one request waits for it; all
    that wait may share it.
    """
    unclear = {key: amount for key, amount in amounts.items() if key[0] in AMBIGUOUS}
    total = add_amounts(unclear.values())
    users = {row.number("uid") for row in service.rows}
    mine = [
        row
        for row in queries
        if row.number("waiting")
        and not row.number("kept")
        and row.number("uid") in users
        and (not row.number("pid") or row.text("pid") in service.pids)
    ]
    if not total.number or not mine or any(activity == DNS for activity, _ in amounts):
        return amounts
    samples = int(max(row.number("samples") or 1 for row in mine))
    open_queries = sum_column(mine, "waiting")
    number = min(total.number, open_queries / QUERIES_OF_LOOKUP)
    low = number * wilson_interval(min(1.0, number), samples)[0] / min(1.0, number)
    longest = max(row.number("oldest") or 0.0 for row in mine)
    part = Amount(number, low, total.high, samples, longest, "", tuple(row.citation for row in mine))
    rest = 1.0 - number / total.number
    left = {key: replace(amount, number=amount.number * rest, low=0.0) for key, amount in unclear.items()}
    return {**amounts, **left, (DNS, mine[0].text("server")): part}


def is_path(target: str) -> bool:
    """Return whether a target is a file."""
    return target.startswith("/")


def add_file_waits(amounts: Mapping[Key, Amount]) -> Mapping[Key, Amount]:
    """Return the amounts of a service with the time that threads wait behind one that waits for the lock of a file.

    A record lock belongs to its process: a second thread would get it at once (fcntl(2)). So threads of one process
    take turns with a lock inside of it, and what waits for its turn waits for what the thread in turn does. Of that
    time, the file has the part that it has of the time of threads that neither idle nor wait inside the process.
    """
    files = {
        key: amount
        for key, amount in amounts.items()
        if key[0] == LOCK and is_path(key[1]) and amount.operation == "fcntl"
    }
    inside = {
        key: amount
        for key, amount in amounts.items()
        if key[0] in INSIDE_WAITS or (key[0] == LOCK and not is_path(key[1]))
    }
    waiting = sum(amount.number for amount in files.values())
    if not waiting or not inside or sum(amount.low for amount in files.values()) > 1:
        return amounts
    others = sum(amount.number for key, amount in amounts.items() if key not in files and key not in inside)
    part = waiting / (waiting + others)
    least = sum(amount.low for amount in files.values())
    moved = add_amounts(inside.values())
    key, largest = max(files.items(), key=lambda item: item[1].number)
    low = largest.low + least / (least + others) * moved.low if least else largest.low
    number, high = largest.number + part * moved.number, largest.high + moved.high
    longest = max(largest.longest_ms, moved.longest_ms)
    left = {name: replace(item, number=item.number * (1 - part), low=0.0) for name, item in inside.items()}
    cites = (*largest.citations, *moved.citations)
    return {
        **amounts,
        **left,
        key: replace(largest, number=number, low=low, high=high, longest_ms=longest, citations=cites),
    }


@dataclass(frozen=True, slots=True)
class ThrottledGroups:
    """The part of the time in which groups were held back by their CPU quota.

    `parts` are by control group, 0 to 1. The kernel adds up the time that a group is held back on each CPU, so it is
    divided by the number of CPUs on which the group ran or requested to run at once.
    """

    parts: Mapping[str, tuple[float, Citation]]

    def split(self, group: str, busy: Mapping[Key, Amount]) -> Mapping[Key, Amount]:
        """Split `throttled` from `runnable`: a thread of a group that is held back cannot run."""
        waiting = busy.get((RUNNABLE, ""))
        limit = self._find_limit(group)
        if waiting is None or limit is None:
            return busy
        part, citation = limit
        running = busy.get((RUNNING, ""))
        requested = waiting.number + (running.number if running else 0.0)
        held = min(waiting.number, part * requested)
        if held <= 0:
            return busy
        cites = (*waiting.citations, citation)
        result = {**busy, (THROTTLED, ""): Amount(held, held, held, citations=cites)}
        rest = waiting.number - held
        result[RUNNABLE, ""] = replace(waiting, number=rest, low=rest, high=rest)
        return result

    def _find_limit(self, group: str) -> tuple[float, Citation] | None:
        """Return the largest part of the group and the groups above it."""
        above = [self.parts[path] for path in self.parts if group == path or group.startswith(f"{path}/")]
        return max(above, key=lambda item: item[0], default=None)


def read_throttled_groups(
    rows: Sequence[TableRow],
    services: Sequence[LocalService],
    cpus: int | None,
    window_ms: float,
) -> ThrottledGroups:
    """Return the throttled parts of groups from the counters of `cgroup_cpu`, each over its own `seconds`.

    Threads were sampled for `window_ms`, which may be shorter. A capture lasts longer than any of its counters.
    """
    parts: dict[str, tuple[float, Citation]] = {}
    for row in rows:
        path, held_s = row.text("path").rstrip("/"), row.number("throttled_s") or 0.0
        seconds = row.number("seconds") or 0.0
        if not path or held_s <= 0 or seconds <= 0:
            continue
        requested = sum(
            _count_requested(service, window_ms)
            for service in services
            if service.group == path or service.group.startswith(f"{path}/")
        )
        used = max(1.0, min(requested, float(cpus or requested)))
        parts[path] = min(1.0, held_s / seconds / used), row.citation
    return ThrottledGroups(parts)


def _count_requested(service: LocalService, window_ms: float) -> float:
    """Return the mean number of threads of a service that run or want to run."""
    requested = sum_column(service.rows, "run_ms") + sum_column(service.rows, "wait_ms")
    return requested / window_ms if window_ms > 0 else 0.0

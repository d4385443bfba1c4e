"""Time accounts: where the requests of a service spend their time, as mean numbers of threads and requests.

Every quantity is a mean number at a time (threads that run, threads that wait for a disk, requests that wait for a
peer). By Little's law such means are proportional to the time that requests spend there, so shares of them are shares
of time, without knowing single requests. A thread waits for a peer itself, or its event loop waits for many peers at
once; then the unanswered requests on its connections count instead.

Sources: time on and for a CPU from schedstat (exact); the rest of the time of a thread is divided by samples of its
system call; unanswered requests from tcp_info.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from culprit.domain.rules.finding import Citation, Subject
from culprit.domain.rules.measures.places import group_of
from culprit.domain.rules.view import HostView, TableRow
from culprit.domain.statistics.intervals import wilson_interval

#: Waits of a thread that has nothing to do. A thread in `park` may be idle or wait for another thread.
IDLE = frozenset({"accept", "client", "events", "sleep", "child", "park", "pipe"})
#: Threads of an event loop wait here while their requests wait for peers.
LOOPS = frozenset({"events"})
#: Remote sessions receive keystrokes, not requests.
SESSIONS = frozenset({"sshd", "sshd-session"})

Key = tuple[str, str]
"""Activity and target, such as ("peer", "10.0.0.7:5432")."""


@dataclass(frozen=True, slots=True)
class Amount:
    """The mean number of threads and requests in one activity, from `samples` samples."""

    number: float
    samples: int
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """One service: the processes that share a program and a parent.

    `waiting` is the mean number of requests that it has received and not answered, `oldest_ms` the longest wait of
    one, `queued` those that no thread has taken. `share_of` is the share of the callers' time that is spent here, 1 for
    a service whose own requests wait. `amounts` are without idle threads.
    """

    name: str
    subject: Subject
    pids: frozenset[str]
    ports: frozenset[str]
    amounts: Mapping[Key, Amount]
    waiting: float = 0.0
    queued: float = 0.0
    oldest_ms: float = 0.0
    samples: int = 0
    citations: tuple[Citation, ...] = ()
    share_of: float = 1.0
    callers: tuple[str, ...] = field(default=())

    @property
    def total(self) -> float:
        """The mean number of threads and requests that are not idle."""
        return sum(amount.number for amount in self.amounts.values())

    def share(self, activities: Iterable[str]) -> tuple[float, float, float]:
        """Return the share of these activities in the time that is not idle, with its bounds, 0 to 1."""
        requested = set(activities)
        total = self.total
        if not total:
            return 0.0, 0.0, 1.0
        value = min(
            1.0, sum(item.number for (name, _), item in self.amounts.items() if name in requested) / total
        )
        return (value, *wilson_interval(value, max(self.samples, 1)))


def read_accounts(view: HostView) -> list[TimeAccount]:
    """Return the accounts of services whose requests wait or that were asked about, and of the local services that
    they wait for, the most waiting first. Without samples of threads there are none."""
    if not view.rows("process_time"):
        return []
    accounts = {account.name: account for account in _build_accounts(view)}
    by_key = {pid: account for account in accounts.values() for pid in account.pids}
    target = _get_target_pids(view)
    chosen = {
        id(account): account
        for account in accounts.values()
        if account.waiting + account.queued > 0 or (target and account.pids & target)
    }
    owners = _list_owners(view)
    pending = list(chosen.values())
    while pending:
        account = pending.pop()
        for peer, share in _list_local_peers(account, owners).items():
            callee = by_key.get(owners[peer.rpartition(":")[2]])
            if callee is None or callee.name in account.callers or callee.pids == account.pids:
                continue
            through = replace(
                callee,
                share_of=max(account.share_of * share, callee.share_of if id(callee) in chosen else 0.0),
                callers=(*account.callers, account.name),
            )
            if id(callee) not in chosen:
                chosen[id(callee)] = through
                pending.append(through)
    return sorted(chosen.values(), key=lambda item: -(item.waiting + item.queued))


def _build_accounts(view: HostView) -> Iterator[TimeAccount]:
    services = _group_processes(view)
    groups = group_of(view)
    times: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("thread_time"):
        times[row.text("pid")].append(row)
    waits: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("comm") not in SESSIONS:
            waits[row.text("pid")].append(row)
    queues: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("listeners"):
        queues[row.text("pid")].append(row)
    for root, rows in services.items():
        pids = [row.text("pid") for row in rows]
        own = [row for pid in pids for row in waits[pid]]
        inbound = [row for row in own if row.text("direction") == "in"]
        listening = [row for pid in pids for row in queues[pid]]
        unread = _sum(inbound, "unread")
        queued = unread + _sum(listening, "queue_min")
        busiest = max(rows, key=lambda row: row.number("samples") or 0.0)
        group = groups.get(busiest.text("pid"), "")
        places = {"cgroup": group} if group and group != "/" else {}
        places["pid" if len(pids) == 1 else "service"] = pids[0] if len(pids) == 1 else busiest.text("comm")
        yield TimeAccount(
            name=f"{busiest.text('comm')} {root}",
            subject=tuple(sorted(places.items())),
            pids=frozenset(pids),
            ports=frozenset(row.text("port") for row in listening) | {row.text("peer") for row in inbound},
            amounts=_add_amounts(rows, times, own, queued),
            waiting=_sum(inbound, "waiting"),
            queued=queued,
            oldest_ms=max((row.number("oldest") or 0.0 for row in inbound), default=0.0),
            samples=int(_sum(rows, "samples")),
            citations=tuple(row.citation for row in (*inbound, *listening)[:4]),
        )


def _add_amounts(
    rows: Sequence[TableRow],
    times: Mapping[str, Sequence[TableRow]],
    waits: Sequence[TableRow],
    queued: float,
) -> Mapping[Key, Amount]:
    """Return the amounts of one service. Threads that are parked while requests queue are not idle."""
    numbers: dict[Key, float] = defaultdict(float)
    samples: dict[Key, int] = defaultdict(int)
    cites: dict[Key, list[Citation]] = defaultdict(list)
    idle = IDLE - {"park"} if queued >= 1.0 else IDLE
    for row in rows:
        wall, run, ready = (row.number(name) or 0.0 for name in ("wall_ms", "run_ms", "wait_ms"))
        threads = max(row.number("threads") or 1.0, 1.0)
        window = wall / threads
        if not window:
            continue
        for activity, spent in (("running", run), ("runnable", ready)):
            numbers[activity, "-"] += spent / window
            cites[activity, "-"].append(row.citation)
        seen = [
            item
            for item in times.get(row.text("pid"), ())
            if item.text("activity") not in ("running", "runnable")
        ]
        blocked = sum(item.number("samples") or 0.0 for item in seen)
        rest = max(0.0, wall - run - ready) / window
        for item in seen:
            key = item.text("activity"), normalize_address(item.text("target"))
            if _is_idle(item, idle) or not blocked:
                continue
            count = item.number("samples") or 0.0
            numbers[key] += rest * count / blocked
            samples[key] += int(count)
            cites[key].append(item.citation)
    for row in waits:
        key = "peer", normalize_address(row.text("peer"))
        unanswered = row.number("waiting") or 0.0
        if row.text("direction") == "out" and unanswered > numbers.get(key, 0.0):
            numbers[key] = unanswered
            samples[key] = int(row.number("samples") or 0.0)
            cites[key] = [row.citation]
    return {
        key: Amount(number, samples[key], tuple(cites[key][:6]))
        for key, number in numbers.items()
        if number > 0
    }


def _is_idle(row: TableRow, idle: frozenset[str]) -> bool:
    """A thread that writes to a client or a pipe is not idle: its reader is slow."""
    activity = row.text("activity")
    writes = row.text("detail").endswith("write") or "send" in row.text("detail")
    return activity in idle and not (writes and activity in ("client", "pipe"))


def _group_processes(view: HostView) -> Mapping[str, list[TableRow]]:
    """Return the processes of each service by the pid of the first ancestor with the same program."""
    parents = {row.text("pid"): row.text("ppid") for row in view.rows("processes")}
    names = {
        row.text("pid"): row.text("comm") for row in (*view.rows("processes"), *view.rows("process_time"))
    }
    services: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("process_time"):
        root = row.text("pid")
        while (above := parents.get(root, "")) and above != root and names.get(above) == names.get(root):
            root = above
        services[root].append(row)
    return services


def _list_owners(view: HostView) -> Mapping[str, str]:
    """Return the pid that listens on each local port."""
    owners = {row.text("port"): row.text("pid") for row in view.rows("listeners") if row.text("pid")}
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "in" and row.text("pid"):
            owners.setdefault(row.text("peer"), row.text("pid"))
    return owners


def _list_local_peers(account: TimeAccount, owners: Mapping[str, str]) -> Mapping[str, float]:
    """Return the local peers that a service waits for, with the share of its time."""
    total = account.total
    return {
        target: amount.number / total
        for (activity, target), amount in account.amounts.items()
        if activity == "peer" and is_local(target) and target.rpartition(":")[2] in owners
    }


def is_local(address: str) -> bool:
    """Return whether an address with port is of the loopback."""
    host = address.rpartition(":")[0].strip("[]")
    return host.startswith("127.") or host in ("::1", "localhost")


def normalize_address(text: str) -> str:
    """Write an IPv4 address inside IPv6 as IPv4: `[::ffff:10.0.0.7]:80` is `10.0.0.7:80`."""
    host, colon, port = text.rpartition(":")
    bare = host.strip("[]")
    return (
        f"{bare.removeprefix('::ffff:')}{colon}{port}" if bare.startswith("::ffff:") and "." in bare else text
    )


def _get_target_pids(view: HostView) -> frozenset[str]:
    """Return the processes that the capture was about; none where it was about the whole host."""
    if view.target.get("kind") in (None, "host"):
        return frozenset()
    return frozenset(row.text("pid") for row in view.rows("process_time"))


def _sum(rows: Iterable[TableRow], name: str) -> float:
    return sum(row.number(name) or 0.0 for row in rows)

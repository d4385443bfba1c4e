"""What makes requests wait: a peer that does not answer, a lock, or descriptors that are never closed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading, Subject
from culprit.domain.rules.intervals import Interval, estimate_share, poisson_interval
from culprit.domain.rules.measures.derived import cite_rows, merge_citations
from culprit.domain.rules.measures.places import count_thread_samples, group_of
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

Detail = dict[str, str | int | float]

#: A thread that gave the CPU up less often than this took part in nothing: it is parked.
ACTIVE_PER_S = 0.5
#: Waiting most of the time: in half of the samples.
MOSTLY_PCT = 50.0
SESSIONS = ("sshd", "sshd-session")


def read_pid(row: TableRow) -> str:
    number = row.number("pid")
    return "" if not number else str(int(number))


def _list_requested_connections(view: HostView) -> Mapping[str, list[TableRow]]:
    """Return the connections on which a process receives requests, by pid, without remote sessions."""
    table_rows: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "in" and read_pid(row) and row.text("comm") not in SESSIONS:
            table_rows[read_pid(row)].append(row)
    return table_rows


def list_calls(view: HostView) -> Iterator[tuple[TableRow, Subject]]:
    """Yield the connections of each process to each peer, without remote sessions, and what they are about."""
    for row in view.rows("tcp_waits"):
        if row.text("direction") == "out" and read_pid(row) and row.text("comm") not in SESSIONS:
            yield row, (("dst", row.text("peer")), ("pid", read_pid(row)))


def sum_column(rows: Iterable[TableRow], name: str) -> float:
    """The sum of a column, nothing for what is unknown."""
    return sum(row.number(name) or 0.0 for row in rows)


def count_samples(view: HostView) -> int:
    fact = view.facts.get("tcp_waits")
    samples = fact.get("tcp_samples") if isinstance(fact, Mapping) else None
    if isinstance(samples, int):
        return samples
    return int(max((row.number("samples") or 0.0 for row in view.rows("tcp_waits")), default=0.0))


def estimate_waiting(view: HostView, rows: Iterable[TableRow], column: str = "waiting") -> Interval:
    """Return the interval of the mean number of requests that wait at the same time.

    A row has the mean over all samples, and in how many samples any waited. The share of such samples has a Wilson
    interval. Fewer than one waits in each only if it was rarely seen; the number that waited is taken as known.
    """
    samples = max(1, count_samples(view))
    low = high = 0.0
    for row in rows:
        mean = row.number(column) or 0.0
        counted = row.number("waiting_samples") if column == "waiting" else None
        share = min(1.0, mean if counted is None else counted / samples)
        interval = estimate_share(share, samples, 1.0)
        at_once = mean / share if share > 0 else 1.0
        low, high = low + interval.low * at_once, high + interval.high * at_once
    return Interval("sampled", low, high)


def _sum_waiting(view: HostView, rows: Sequence[TableRow]) -> tuple[float, Interval]:
    return sum_column(rows, "waiting"), estimate_waiting(view, rows)


def _reply_wait(view: HostView) -> Iterator[Measurement]:
    for row, subject in list_calls(view):
        oldest = row.number("oldest")
        if oldest is not None:
            detail: Detail = {
                "name": row.text("comm"),
                "peer": row.text("peer"),
                "waiting": row.number("waiting") or 0.0,
            }
            yield Measurement(oldest, subject, (row.citation,), count_samples(view), (), detail)


def _unanswered(view: HostView) -> Iterator[Measurement]:
    for row, subject in list_calls(view):
        value, interval = _sum_waiting(view, [row])
        yield Measurement(value, subject, (row.citation,), count_samples(view), interval=interval)


def _behind_peer(view: HostView) -> Iterator[Measurement]:
    requested = _list_requested_connections(view)
    for row, subject in list_calls(view):
        mine = requested.get(read_pid(row), [])
        held, samples = sum_column(mine, "waiting"), count_samples(view)
        if held > 0:
            share = min(1.0, (row.number("waiting") or 0.0) / held)
            cites = cite_rows([row], mine)
            yield Measurement(100.0 * share, subject, cites, samples, interval=estimate_share(share, samples))


def _measure_single_peer(view: HostView) -> Reading:
    """Percent of all unanswered questions of a process that one peer owes; nothing where no question is unanswered."""
    asking: dict[str, list[tuple[TableRow, Subject]]] = defaultdict(list)
    for row, subject in list_calls(view):
        asking[read_pid(row)].append((row, subject))
    results = []
    for rows in asking.values():
        unanswered = sum_column((row for row, _ in rows), "waiting")
        row, subject = max(rows, key=lambda row: row[0].number("waiting") or 0.0)
        if unanswered > 0:
            name, peer, samples = row.text("comm"), row.text("peer"), count_samples(view)
            detail: Detail = {"name": name, "peer": peer, "waiting": round(unanswered, 1)}
            share = min(1.0, (row.number("waiting") or 0.0) / unanswered)
            cites, interval = cite_rows(each for each, _ in rows), estimate_share(share, samples)
            results.append(Measurement(100.0 * share, subject, cites, samples, (), detail, interval))
    if results:
        return results
    seen = view.has_data("tcp_waits")
    return MissingData(
        Sentence("missing.nothing_unanswered") if seen else view.missing_reason(("tcp_waits",))
    )


def _held(view: HostView) -> Iterator[Measurement]:
    """Requests that a process has taken and not answered; those that it has not yet read count too."""
    for pid, rows in _list_requested_connections(view).items():
        waiting, interval = _sum_waiting(view, rows)
        unread = estimate_waiting(view, rows, "unread")
        interval = Interval("sampled", interval.low + unread.low, interval.high + unread.high)
        value, samples = waiting + sum_column(rows, "unread"), count_samples(view)
        yield Measurement(value, (("pid", pid),), cite_rows(rows), samples, interval=interval)


def _oldest_request(view: HostView) -> Iterator[Measurement]:
    """The longest wait of a request that a process has received and not answered, with the group of the process."""
    groups = group_of(view)
    for pid, rows in _list_requested_connections(view).items():
        place = (("cgroup", groups[pid]), ("pid", pid)) if pid in groups else (("pid", pid),)
        known = [row for row in view.rows("thread_groups") if row.text("pid") == pid]
        detail: Detail = {"name": rows[0].text("comm"), "waiting": round(sum_column(rows, "waiting"), 1)}
        oldest = max(row.number("oldest") or 0.0 for row in rows)
        yield Measurement(oldest, place, cite_rows(rows, known), count_samples(view), (), detail)


def _elsewhere(view: HostView) -> Iterator[Measurement]:
    """Questions of a process that a peer has not answered; none asked is none unanswered."""
    asking: dict[str, list[TableRow]] = defaultdict(list)
    for row, _ in list_calls(view):
        asking[read_pid(row)].append(row)
    for pid, rows in _list_requested_connections(view).items():
        mine = asking.get(pid, [])
        value, interval = _sum_waiting(view, mine)
        cites, samples = cite_rows(mine, rows), count_samples(view)
        yield Measurement(value, (("pid", pid),), cites, samples, interval=interval)


def _threads(view: HostView) -> Mapping[str, list[TableRow]]:
    table_rows: dict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        table_rows[read_pid(row)].append(row)
    return table_rows


def _on_futex(row: TableRow) -> bool:
    wchan, share = row.text("wchan"), row.number("wchan_pct")
    return wchan.startswith("futex") and share is not None and share >= MOSTLY_PCT


def _count_thread_samples(rows: Iterable[TableRow]) -> int:
    """Return how often the threads of a process were sampled, at least once."""
    return int(max((row.number("samples") or 1.0 for row in rows), default=1.0))


def _conditions(view: HostView, pid: str) -> float:
    """Return the part of the time in futex that is spent in condition variables, 0 to 1: idle threads of pools.

    0 where the operations were not sampled. Runtimes that park threads for locks as well count as waiting for a lock.
    """
    spent = dict.fromkeys(("condition", "lock", "semaphore", "park"), 0.0)
    for row in view.rows("thread_time"):
        if read_pid(row) == pid and row.text("activity") in spent:
            spent[row.text("activity")] += row.number("time_ms") or 0.0
    total = sum(spent.values())
    return spent["condition"] / total if total else 0.0


def _pileup(view: HostView) -> Iterator[Measurement]:
    for pid, rows in _threads(view).items():
        active = [row for row in rows if (row.number("voluntary_per_s") or 0.0) >= ACTIVE_PER_S]
        stuck = [row for row in active if _on_futex(row)]
        if len(active) > 2:
            detail: Detail = {"stuck": len(stuck), "threads": len(active), "name": rows[0].text("comm")}
            share = (1.0 - _conditions(view, pid)) * len(stuck) / len(active)
            samples = _count_thread_samples(rows)
            yield Measurement(
                100.0 * share, (("pid", pid),), cite_rows(rows), samples, (), detail,
                estimate_share(share, samples),
            )  # fmt: skip


def _stuck_per_request(view: HostView) -> Iterator[Measurement]:
    held = {dict(item.subject)["pid"]: item for item in _held(view)}
    for pid, rows in _threads(view).items():
        stuck = [
            row for row in rows if _on_futex(row) and (row.number("voluntary_per_s") or 0.0) >= ACTIVE_PER_S
        ]
        if pid in held and held[pid].value > 0 and stuck:
            requests, count = held[pid], len(stuck)
            cites = merge_citations((*cite_rows(rows), *requests.citations))
            low = count / requests.high if requests.high else math.inf
            high = count / requests.low if requests.low else math.inf
            yield Measurement(
                count / requests.value, (("pid", pid),), cites, requests.sample_count,
                interval=Interval("sampled", low, high),
            )  # fmt: skip


def _stuck_per_taken(view: HostView) -> Iterator[Measurement]:
    """Threads that wait in futex for each request that the process has read and not answered."""
    for pid, connections in _list_requested_connections(view).items():
        taken, interval = _sum_waiting(view, connections)
        rows = [row for row in _threads(view).get(pid, ()) if _on_futex(row)]
        stuck = [row for row in rows if (row.number("voluntary_per_s") or 0.0) >= ACTIVE_PER_S]
        if taken > 0 and stuck:
            count = len(stuck)
            cites = merge_citations((*cite_rows(stuck), *cite_rows(connections)))
            low = count / interval.high if interval.high else math.inf
            high = count / interval.low if interval.low else math.inf
            yield Measurement(
                count / taken, (("pid", pid),), cites, count_samples(view), (), {},
                Interval("sampled", low, high),
            )  # fmt: skip


def _cpu_of(view: HostView) -> Iterator[Measurement]:
    """Return the CPU time of processes in percent of the CPUs that they may use: exact, from the scheduler."""
    cpus = view.cpus or 1
    for row in view.rows("thread_groups"):
        cpu = row.number("cpu_pct")
        if cpu is not None:
            yield Measurement(
                cpu / cpus, (("pid", read_pid(row)),), (row.citation,), count_thread_samples(view, row)
            )


def _fd_use(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("fd_counts"):
        used = row.number("used_pct")
        if used is not None:
            detail: Detail = {"name": row.text("comm"), "open": int(row.number("open_last") or 0)}
            yield Measurement(used, (("pid", read_pid(row)),), (row.citation,), 0, (), detail)


def _fd_growth(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("fd_counts"):
        first, growth = row.number("open_first"), row.number("growth")
        if first and growth is not None:
            low, high = poisson_interval(max(0.0, growth))
            interval = Interval("events", 100.0 * low / first, 100.0 * high / first) if growth > 0 else None
            yield Measurement(
                100.0 * growth / first,
                (("pid", read_pid(row)),),
                (row.citation,),
                int(first),
                interval=interval,
            )


def _limit_use(*names: str) -> Callable[[HostView], Reading]:
    """Return how the limits of these names are read. A process that may have no other task was confined on purpose."""

    def read(view: HostView) -> Reading:
        results = []
        for row in view.rows("limits"):
            used = row.number("used_pct")
            is_confined = row.text("name") == "tasks_of_user" and (row.number("max") or 0.0) <= 1
            if used is not None and row.text("name") in names and not is_confined:
                where = row.text("where")
                place = {"cgroup": (("cgroup", where),), "process": (("pid", where),)}.get(
                    row.text("scope"), ()
                )
                limit = f"{row.text('name')} {where}" if row.text("scope") == "user" else row.text("name")
                detail: Detail = {"limit": limit, "name": row.text("comm") or row.text("scope")}
                results.append(Measurement(used, place, (row.citation,), 0, (), detail))
        return results

    return read


def _refused_tasks(view: HostView) -> Iterator[Measurement]:
    """Forks that the limit of a control group refused during the capture: the counter of the kernel."""
    for row in view.rows("limits"):
        refused = row.number("used")
        if row.text("name") == "refused_tasks_of_group" and refused is not None:
            group = row.text("where")
            yield Measurement(refused, (("cgroup", group),), (row.citation,), 1, (), {"name": group})


def _root_services(view: HostView) -> Iterator[Measurement]:
    for pid, rows in _list_requested_connections(view).items():
        uid = rows[0].number("uid")
        if uid is not None:
            detail: Detail = {"name": rows[0].text("comm"), "port": rows[0].text("peer")}
            yield Measurement(float(uid == 0), (("pid", pid),), (rows[0].citation,), 1, (), detail)


_WAITS, _FDS = (("tcp_waits",),), (("fd_table",),)
_BOTH = (("tcp_waits",), ("proc_threads",))
REPLY_WAIT = Measure("dep.reply_wait_ms", "ms", Text("Longest wait for a peer", "等待对端最久的时间"), _WAITS,
                     lambda view: list(_reply_wait(view)))  # fmt: skip
UNANSWERED = Measure("dep.unanswered_count", "count", Text("Unanswered at once", "同时未获应答"), _WAITS,
                     lambda view: list(_unanswered(view)))  # fmt: skip
BEHIND_PEER = Measure("dep.requests_behind_pct", "pct", Text("Requests that wait for it", "因它等待的请求"), _WAITS,
                      lambda view: list(_behind_peer(view)))  # fmt: skip
SINGLE_PEER = Measure("dep.one_peer_pct", "pct", Text("Waits for one and the same peer", "等待同一对端的占比"), _WAITS,
                   _measure_single_peer)  # fmt: skip
HELD = Measure("app.requests_held_count", "count", Text("Requests in hand", "在手请求数"), _WAITS,
               lambda view: list(_held(view)))  # fmt: skip
OLDEST_REQUEST = Measure("app.oldest_request_ms", "ms", Text("Longest wait of a request", "请求最长等待"), _WAITS,
                         lambda view: list(_oldest_request(view)))  # fmt: skip
ELSEWHERE = Measure("app.unanswered_count", "count", Text("Questions of its own", "自身未获应答的请求"), _WAITS,
                    lambda view: list(_elsewhere(view)))  # fmt: skip
PILEUP = Measure("lock.futex_threads_pct", "pct", Text("Active threads in futex", "停在 futex 的活跃线程"),
                 (("proc_threads",),), lambda view: list(_pileup(view)))  # fmt: skip
STUCK_PER_TAKEN = Measure("lock.stuck_per_taken_request", "ratio",
                          Text("Stuck threads a request that was read", "每个已读请求受阻线程"),
                          _BOTH, lambda view: list(_stuck_per_taken(view)))  # fmt: skip
STUCK_PER_REQUEST = Measure("lock.stuck_per_request", "ratio", Text("Stuck threads a request", "每请求受阻线程"),
                            _BOTH, lambda view: list(_stuck_per_request(view)))  # fmt: skip
CPU_OF = Measure("proc.cpu_of_host_pct", "pct", Text("CPU of the process", "进程 CPU"), (("proc_threads",),),
                 lambda view: list(_cpu_of(view)))  # fmt: skip
FD_USE = Measure("fd.used_pct", "pct", Text("Open files of the limit", "打开文件占限额"), _FDS,
                 lambda view: list(_fd_use(view)))  # fmt: skip
FD_GROWTH = Measure("fd.growth_pct", "pct", Text("Growth of open files", "打开文件增长"), _FDS,
                    lambda view: list(_fd_growth(view)))  # fmt: skip
TASK_LIMIT_USE = Measure("limit.tasks_used_pct", "pct", Text("Processes and threads of the limit", "进程与线程占限额"),
                         (("limits",),), _limit_use("threads", "pids", "tasks_of_group", "tasks_of_user"))  # fmt: skip
REFUSED_TASKS = Measure("limit.refused_tasks_count", "count", Text("Forks that the limit refused", "被限额拒绝的 fork"),
                        (("limits",),), lambda view: list(_refused_tasks(view)))  # fmt: skip
FILE_LIMIT_USE = Measure("limit.files_used_pct", "pct", Text("Open files of the limit", "打开文件占限额"),
                         (("limits",),), _limit_use("open_files", "open_files_of_process"))  # fmt: skip
ROOT_SERVICE = Measure("service.is_root", "bool", Text("Serves as root", "以 root 提供服务"), _WAITS,
                       lambda view: list(_root_services(view)))  # fmt: skip

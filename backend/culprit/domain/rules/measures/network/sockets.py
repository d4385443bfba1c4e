"""Queues of listening sockets and who should empty them; local ports and what looking for one costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.core.rules.contract import Measure, Measured, Subject
from culprit.core.rules.measures.derived import Detail
from culprit.core.rules.measures.network import cell, worst
from culprit.core.rules.measures.network_loss import rate
from culprit.core.rules.view import Row, View

MIN_LOOKS = 8
#: Fewer handshakes on their way to one peer may be those of this very moment.
MIN_UNANSWERED = 5
_LOCKS = ("futex", "mutex", "rwsem")
#: connect() and bind() looking for a port, by the names of Linux 3.10 to 6.x.
PORT_SEARCH = (
    r"__inet_hash_connect|__inet_check_established|__inet6_check_established|inet_csk_get_port"
    r"|inet_csk_find_open_port|inet_csk_bind_conflict|inet_bind_conflict|inet_hash_connect|inet_bhash2_conflict"
)
NETFILTER = r"^nft_|^ipt_do_table|^nf_hook|^nf_conntrack|^br_nf_|^xt_|iptable_|ip6t_do_table"
_FRAME_SAMPLES = 30


def listener(row: Row) -> Subject:
    """A listening socket: its port, and its process where that is known."""
    pid = row.number("pid")
    about = [("port", str(int(cell(row, "port"))))]
    return tuple(sorted([*about, ("pid", str(int(pid)))])) if pid else tuple(about)


def _looked_at(view: View) -> Iterator[Row]:
    for row in view.rows("listeners"):
        if cell(row, "looks") >= MIN_LOOKS:
            yield row


def _fill(view: View) -> Sequence[Measured]:
    """How full a queue was in its fullest look; those of a handful of places are full at once and say nothing."""
    return [
        Measured(
            cell(row, "fill_pct"),
            listener(row),
            (row.cite,),
            int(cell(row, "looks")),
            detail={"process": row.text("process"), "waiting": int(cell(row, "queue_max"))},
        )
        for row in view.rows("listeners")
        if cell(row, "backlog") > 0
    ]


def _standing(view: View) -> Sequence[Measured]:
    return [
        Measured(
            cell(row, "queue_min"),
            listener(row),
            (row.cite,),
            int(cell(row, "looks")),
            detail={"process": row.text("process"), "most": int(cell(row, "queue_max"))},
        )
        for row in _looked_at(view)
    ]


def _threads_of(view: View) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in view.rows("threads"):
        found.setdefault(row.text("pid"), []).append(row)
    return found


def _processes(view: View) -> Iterator[tuple[Subject, Row]]:
    """The processes behind listeners, as far as their threads were watched."""
    rows = {row.text("pid"): row for row in view.rows("thread_groups")}
    for socket in _looked_at(view):
        row = rows.get(socket.text("pid"))
        if row is not None:
            yield listener(socket), row


def _runnable(view: View) -> Iterator[Measured]:
    """How many of a hundred threads of a listener's process run or wait for a CPU."""
    for subject, row in _processes(view):
        threads = max(1.0, cell(row, "threads"))
        yield Measured(100.0 * cell(row, "mean_runnable") / threads, subject, (row.cite,), int(threads))


def _in_locks(view: View) -> Iterator[Measured]:
    """How many of a hundred threads of a listener's process wait for a lock most of the time."""
    threads = _threads_of(view)
    for subject, row in _processes(view):
        of = threads.get(row.text("pid"), [])
        if of:
            held = [one for one in of if any(lock in one.text("wchan") for lock in _LOCKS)]
            yield Measured(100.0 * len(held) / len(of), subject, ((held or of)[0].cite,), len(of))


def _calls_out(view: View) -> Iterator[Measured]:
    """Connections to the one destination with most, for a hundred threads: is each worker asking somebody else?"""
    destinations = view.rows("tcp_destinations")
    top = max(destinations, key=lambda row: cell(row, "established") + cell(row, "syn_sent"), default=None)
    for subject, row in _processes(view):
        threads = max(1.0, cell(row, "threads"))
        open_ = cell(top, "established") + cell(top, "syn_sent") if top else 0.0
        yield Measured(100.0 * open_ / threads, subject, ((top or row).cite,), int(open_))


def destination(row: Row) -> Subject:
    """Where connections go."""
    return (("dst", f"{row.text('peer')}:{row.text('port')}"),)


def _port_use(view: View) -> Sequence[Measured]:
    return worst(
        Measured(
            cell(row, "port_use_pct"),
            destination(row),
            (row.cite,),
            int(cell(row, "local_ports")),
            detail={
                "source": row.text("source"),
                "ports": int(cell(row, "local_ports")),
                "time_wait": int(cell(row, "time_wait")),
                "established": int(cell(row, "established")),
            },
        )
        for row in view.rows("tcp_destinations")
    )


def _unanswered(view: View) -> Sequence[Measured]:
    """Handshakes a second that were sent again, while several wait for one peer elsewhere that does not take them."""
    elsewhere = [
        row
        for row in view.rows("tcp_destinations")
        if row.text("peer") != row.text("source") and not row.text("peer").startswith(("127.", "::1"))
    ]
    top = max(elsewhere, key=lambda row: cell(row, "syn_sent"), default=None)
    again, cites = rate(view, "tcp.syn_retrans_per_s")
    if top is None or not cites or cell(top, "syn_sent") < MIN_UNANSWERED:
        return ()
    peer = f"{top.text('peer')}:{top.text('port')}"
    detail: Detail = {
        "peer": peer,
        "waiting": int(cell(top, "syn_sent")),
        "established": int(cell(top, "established")),
    }
    return (Measured(again, destination(top), (*cites, top.cite), int(cell(top, "syn_sent")), detail=detail),)


def _range(view: View) -> float:
    told = view.facts.get("ss")
    ports = told.get("ephemeral_ports") if isinstance(told, Mapping) else view.facts.get("ephemeral_ports")
    return float(ports) if isinstance(ports, int) and ports > 0 else 0.0


def _free(view: View) -> Sequence[Measured]:
    """Ports left towards each destination from the address that has fewest."""
    total = _range(view)
    most: dict[Subject, Row] = {}
    for row in view.rows("tcp_destinations") if total else ():
        if (
            cell(row, "local_ports") > cell(most.get(destination(row), row), "local_ports")
            or destination(row) not in most
        ):
            most[destination(row)] = row
    return [
        Measured(
            max(0.0, total - cell(row, "local_ports")), about, (row.cite,), int(cell(row, "local_ports"))
        )
        for about, row in most.items()
    ]


def _time_wait(view: View) -> Sequence[Measured]:
    total = _range(view)
    return worst(
        Measured(
            100.0 * cell(row, "time_wait") / total, destination(row), (row.cite,), int(cell(row, "time_wait"))
        )
        for row in view.rows("tcp_destinations")
        if total
    )


def _connects(view: View) -> Iterator[tuple[Subject, float, float, Row]]:
    """Calls, mean milliseconds and the row with most calls, by process."""
    by: dict[str, list[Row]] = {}
    for row in view.rows("syscalls"):
        if row.text("syscall") == "connect" and cell(row, "calls") > 0:
            by.setdefault(row.text("pid") or row.text("tid"), []).append(row)
    for pid, rows in by.items():
        calls = sum(cell(row, "calls") for row in rows)
        total = sum(cell(row, "total") or cell(row, "avg") * cell(row, "calls") for row in rows)
        yield (("pid", pid),), calls, total / calls, max(rows, key=lambda row: cell(row, "calls"))


def _connect_us(view: View) -> Iterator[Measured]:
    for subject, calls, mean_ms, row in _connects(view):
        yield Measured(1000.0 * mean_ms, subject, (row.cite,), int(calls), detail={"comm": row.text("comm")})


def _connects_failed(view: View) -> Iterator[Measured]:
    """Of a hundred connect() calls of the target those that never became a SYN: the host sent fewer than it called."""
    opened, cites = rate(view, "tcp.active_opens_per_s")
    rates: dict[str, float] = {}
    for row in view.rows("syscalls"):
        if row.text("syscall") == "connect":
            key = row.text("pid") or row.text("tid")
            rates[key] = rates.get(key, 0.0) + cell(row, "rate")
    for subject, calls, _, row in _connects(view):
        per_s = rates[subject[0][1]]
        if cites and per_s > 0:
            failed = max(0.0, 100.0 * (1.0 - opened / per_s))
            cited = (row.cite, *cites[:1])
            yield Measured(
                failed,
                subject,
                cited,
                int(calls),
                detail={
                    "per_s": round(per_s, 1),
                    "opened_per_s": round(opened, 1),
                    "comm": row.text("comm"),
                },
            )


def _not_available(view: View) -> Iterator[Measured]:
    for row in view.rows("log_patterns"):
        if row.text("pattern") == "eaddrnotavail":
            yield Measured(cell(row, "rate"), (), (row.cite,), int(cell(row, "count")))


def _on_cpu(view: View, pattern: str, *, by_process: bool) -> Sequence[Measured]:
    """The share of stacks through such frames: of each process with enough samples, and of all."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return ()
    found = [stacks.share(pattern)]
    if by_process:
        table = stacks.profile.table
        for pid, comm in stacks.profile.processes.items():
            if pid > 0 and int((table.pid == pid).sum()) >= _FRAME_SAMPLES:
                one = stacks.share(pattern, (pid,), subject=(("pid", str(pid)),))
                found.append(replace(one, detail={**one.detail, "comm": comm}, doubts=found[0].doubts))
    return [one for one in found if one.n > 0]


def _measure(name: str, unit: str, en: str, zh: str, read: object, *needs: str) -> Measure:
    return Measure(name, unit, Text(en, zh), tuple((one,) for one in needs), read)  # type: ignore[arg-type]


FILL = _measure("listener.fill_pct", "pct", "Fullest look at a queue", "队列最满时占比", _fill, "ss_listen")
STANDING = _measure(
    "listener.queue_min", "count", "Queue that never empties", "始终不空的队列", _standing, "ss_listen"
)
RUNNABLE_PCT = _measure(
    "listener.runnable_pct",
    "pct",
    "Threads that run or want to",
    "可运行线程占比",
    lambda view: list(_runnable(view)),
    "ss_listen",
    "proc_threads",
)
LOCK_PCT = _measure(
    "listener.lock_wait_pct",
    "pct",
    "Threads that wait for a lock",
    "等锁线程占比",
    lambda view: list(_in_locks(view)),
    "ss_listen",
    "proc_threads",
)
CALLS_OUT_PCT = _measure(
    "listener.calls_out_pct",
    "pct",
    "Connections to others per hundred threads",
    "每百线程对外连接数",
    lambda view: list(_calls_out(view)),
    "ss_listen",
    "proc_threads",
    "ss",
)
UNANSWERED = _measure(
    "tcp.unanswered_handshakes_per_s",
    "per_s",
    "Handshakes that a peer does not take",
    "对端未接受的握手",
    _unanswered,
    "ss",
    "netstat_ext",
)
PORT_USE_PCT = _measure("tcp.port_use_pct", "pct", "Local ports in use", "本地端口使用率", _port_use, "ss")
FREE_PORTS = _measure("tcp.free_ports", "count", "Local ports left", "剩余本地端口", _free, "ss")
TIME_WAIT_PCT = _measure(
    "tcp.time_wait_pct", "pct", "Ports in TIME_WAIT", "TIME_WAIT 占端口比例", _time_wait, "ss"
)
CONNECT_US = _measure(
    "connect.mean_us",
    "us",
    "Mean time of connect()",
    "connect() 平均耗时",
    lambda view: list(_connect_us(view)),
    "perf_trace",
)
CONNECTS_FAILED = _measure(
    "connect.failed_pct",
    "pct",
    "connect() calls that sent nothing",
    "未发出 SYN 的 connect() 占比",
    lambda view: list(_connects_failed(view)),
    "perf_trace",
    "snmp",
)
NOT_AVAILABLE = _measure(
    "log.eaddrnotavail_per_s",
    "per_s",
    "Address not available, in the log",
    "日志中的地址不可用",
    lambda view: list(_not_available(view)),
    "app_log",
)
PORT_SEARCH_PCT = _measure(
    "stacks.port_search_pct",
    "pct",
    "CPU time in the search for a port",
    "查找端口的 CPU 占比",
    lambda view: _on_cpu(view, PORT_SEARCH, by_process=True),
    "perf_record",
)
NETFILTER_PCT = _measure(
    "stacks.netfilter_pct",
    "pct",
    "CPU time in packet filters",
    "包过滤的 CPU 占比",
    lambda view: _on_cpu(view, NETFILTER, by_process=False),
    "perf_record",
)

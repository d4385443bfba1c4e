"""Queues of listening sockets and who should empty them; local ports and what looking for one costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.measures.derived import Detail
from culprit.domain.rules.measures.network.drops import keep_worst, read_cell
from culprit.domain.rules.measures.network.loss import read_rate
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

MIN_SAMPLES = 8
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


def build_listener_subject(row: TableRow) -> Subject:
    """A listening socket: its port, and its process where that is known."""
    pid = row.number("pid")
    about = [("port", str(int(read_cell(row, "port"))))]
    return tuple(sorted([*about, ("pid", str(int(pid)))])) if pid else tuple(about)


def _list_sampled_rows(view: HostView) -> Iterator[TableRow]:
    for row in view.rows("listeners"):
        if read_cell(row, "samples") >= MIN_SAMPLES:
            yield row


def _fill(view: HostView) -> Sequence[Measurement]:
    """Measure how full a queue was in its fullest sample. Very short queues fill at once and are left out."""
    return [
        Measurement(
            read_cell(row, "fill_pct"),
            build_listener_subject(row),
            (row.citation,),
            int(read_cell(row, "samples")),
            detail={"process": row.text("process"), "waiting": int(read_cell(row, "queue_max"))},
        )
        for row in view.rows("listeners")
        if read_cell(row, "backlog") > 0
    ]


def _measure_minimum_queue(view: HostView) -> Sequence[Measurement]:
    return [
        Measurement(
            read_cell(row, "queue_min"),
            build_listener_subject(row),
            (row.citation,),
            int(read_cell(row, "samples")),
            detail={"process": row.text("process"), "most": int(read_cell(row, "queue_max"))},
        )
        for row in _list_sampled_rows(view)
    ]


def _threads_of(view: HostView) -> Mapping[str, list[TableRow]]:
    table_rows: dict[str, list[TableRow]] = {}
    for row in view.rows("threads"):
        table_rows.setdefault(row.text("pid"), []).append(row)
    return table_rows


def _processes(view: HostView) -> Iterator[tuple[Subject, TableRow]]:
    """The processes behind listeners, as far as their threads were watched."""
    rows = {row.text("pid"): row for row in view.rows("thread_groups")}
    for socket in _list_sampled_rows(view):
        row = rows.get(socket.text("pid"))
        if row is not None:
            yield build_listener_subject(socket), row


def _runnable(view: HostView) -> Iterator[Measurement]:
    """How many of a hundred threads of a listener's process run or wait for a CPU."""
    for subject, row in _processes(view):
        threads = max(1.0, read_cell(row, "threads"))
        yield Measurement(
            100.0 * read_cell(row, "mean_runnable") / threads, subject, (row.citation,), int(threads)
        )


def _in_locks(view: HostView) -> Iterator[Measurement]:
    """How many of a hundred threads of a listener's process wait for a lock most of the time."""
    threads = _threads_of(view)
    for subject, row in _processes(view):
        of = threads.get(row.text("pid"), [])
        if of:
            held = [item for item in of if any(lock in item.text("wchan") for lock in _LOCKS)]
            yield Measurement(100.0 * len(held) / len(of), subject, ((held or of)[0].citation,), len(of))


def _calls_out(view: HostView) -> Iterator[Measurement]:
    """Measure connections to the destination with most of them, per hundred threads."""
    destinations = view.rows("tcp_destinations")
    top = max(
        destinations, key=lambda row: read_cell(row, "established") + read_cell(row, "syn_sent"), default=None
    )
    for subject, row in _processes(view):
        threads = max(1.0, read_cell(row, "threads"))
        open_ = read_cell(top, "established") + read_cell(top, "syn_sent") if top else 0.0
        yield Measurement(100.0 * open_ / threads, subject, ((top or row).citation,), int(open_))


def build_destination_subject(row: TableRow) -> Subject:
    """Where connections go."""
    return (("dst", f"{row.text('peer')}:{row.text('port')}"),)


def _port_use(view: HostView) -> Sequence[Measurement]:
    return keep_worst(
        Measurement(
            read_cell(row, "port_use_pct"),
            build_destination_subject(row),
            (row.citation,),
            int(read_cell(row, "local_ports")),
            detail={
                "source": row.text("source"),
                "ports": int(read_cell(row, "local_ports")),
                "time_wait": int(read_cell(row, "time_wait")),
                "established": int(read_cell(row, "established")),
            },
        )
        for row in view.rows("tcp_destinations")
    )


def _unanswered(view: HostView) -> Sequence[Measurement]:
    """Handshakes a second that were sent again, while several wait for one peer elsewhere that does not take them."""
    elsewhere = [
        row
        for row in view.rows("tcp_destinations")
        if row.text("peer") != row.text("source") and not row.text("peer").startswith(("127.", "::1"))
    ]
    top = max(elsewhere, key=lambda row: read_cell(row, "syn_sent"), default=None)
    again, cites = read_rate(view, "tcp.syn_retrans_per_s")
    if top is None or not cites or read_cell(top, "syn_sent") < MIN_UNANSWERED:
        return ()
    peer = f"{top.text('peer')}:{top.text('port')}"
    detail: Detail = {
        "peer": peer,
        "waiting": int(read_cell(top, "syn_sent")),
        "established": int(read_cell(top, "established")),
    }
    return (
        Measurement(
            again,
            build_destination_subject(top),
            (*cites, top.citation),
            int(read_cell(top, "syn_sent")),
            detail=detail,
        ),
    )


def _range(view: HostView) -> float:
    fact = view.facts.get("ss")
    ports = fact.get("ephemeral_ports") if isinstance(fact, Mapping) else view.facts.get("ephemeral_ports")
    return float(ports) if isinstance(ports, int) and ports > 0 else 0.0


def _free(view: HostView) -> Sequence[Measurement]:
    """Ports left towards each destination from the address that has fewest."""
    total = _range(view)
    most: dict[Subject, TableRow] = {}
    for row in view.rows("tcp_destinations") if total else ():
        if (
            read_cell(row, "local_ports")
            > read_cell(most.get(build_destination_subject(row), row), "local_ports")
            or build_destination_subject(row) not in most
        ):
            most[build_destination_subject(row)] = row
    return [
        Measurement(
            max(0.0, total - read_cell(row, "local_ports")),
            about,
            (row.citation,),
            int(read_cell(row, "local_ports")),
        )
        for about, row in most.items()
    ]


def _time_wait(view: HostView) -> Sequence[Measurement]:
    total = _range(view)
    return keep_worst(
        Measurement(
            100.0 * read_cell(row, "time_wait") / total,
            build_destination_subject(row),
            (row.citation,),
            int(read_cell(row, "time_wait")),
        )
        for row in view.rows("tcp_destinations")
        if total
    )


def _connects(view: HostView) -> Iterator[tuple[Subject, float, float, TableRow]]:
    """Calls, mean milliseconds and the row with most calls, by process."""
    by: dict[str, list[TableRow]] = {}
    for row in view.rows("syscalls"):
        if row.text("syscall") == "connect" and read_cell(row, "calls") > 0:
            by.setdefault(row.text("pid") or row.text("tid"), []).append(row)
    for pid, rows in by.items():
        calls = sum(read_cell(row, "calls") for row in rows)
        total = sum(
            read_cell(row, "total") or read_cell(row, "avg") * read_cell(row, "calls") for row in rows
        )
        yield (("pid", pid),), calls, total / calls, max(rows, key=lambda row: read_cell(row, "calls"))


def _connect_us(view: HostView) -> Iterator[Measurement]:
    for subject, calls, mean_ms, row in _connects(view):
        yield Measurement(
            1000.0 * mean_ms, subject, (row.citation,), int(calls), detail={"comm": row.text("comm")}
        )


def _connects_failed(view: HostView) -> Iterator[Measurement]:
    """Of a hundred connect() calls of the target those that never became a SYN: the host sent fewer than it called."""
    opened, cites = read_rate(view, "tcp.active_opens_per_s")
    rates: dict[str, float] = {}
    for row in view.rows("syscalls"):
        if row.text("syscall") == "connect":
            key = row.text("pid") or row.text("tid")
            rates[key] = rates.get(key, 0.0) + read_cell(row, "rate")
    for subject, calls, _, row in _connects(view):
        per_s = rates[subject[0][1]]
        if cites and per_s > 0:
            failed = max(0.0, 100.0 * (1.0 - opened / per_s))
            cited = (row.citation, *cites[:1])
            yield Measurement(
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


def _not_available(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("log_patterns"):
        if row.text("pattern") == "eaddrnotavail":
            yield Measurement(read_cell(row, "rate"), (), (row.citation,), int(read_cell(row, "count")))


def _on_cpu(view: HostView, pattern: str, *, by_process: bool) -> Sequence[Measurement]:
    """The share of stacks through such frames: of each process with enough samples, and of all."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return ()
    results = [stacks.share(pattern)]
    if by_process:
        table = stacks.profile.table
        for pid, comm in stacks.profile.processes.items():
            if pid > 0 and int((table.pid == pid).sum()) >= _FRAME_SAMPLES:
                item = stacks.share(pattern, (pid,), subject=(("pid", str(pid)),))
                results.append(
                    replace(
                        item, detail={**item.detail, "comm": comm}, quality_issues=results[0].quality_issues
                    )
                )
    return [item for item in results if item.sample_count > 0]


def _measure(name: str, unit: str, en: str, zh: str, read: object, *needs: str) -> Measure:
    return Measure(name, unit, Text(en, zh), tuple((need,) for need in needs), read)  # type: ignore[arg-type]


FILL = _measure("listener.fill_pct", "pct", "Fullest look at a queue", "队列最满时占比", _fill, "ss_listen")
MINIMUM_QUEUE = _measure(
    "listener.queue_min",
    "count",
    "Queue that never empties",
    "始终不空的队列",
    _measure_minimum_queue,
    "ss_listen",
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

"""Local ports, and what the search for a free port costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, Subject
from culprit.domain.rules.intervals import estimate_event_share
from culprit.domain.rules.measures.derived import Detail, merge_citations
from culprit.domain.rules.measures.network.drops import keep_worst, measure_event_share, read_cell
from culprit.domain.rules.measures.network.rates import read_event_rate
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Fewer handshakes on their way to one peer may be those of this very moment.
MIN_UNANSWERED = 5
#: connect() and bind() looking for a port, by the names of Linux 3.10 to 6.x.
PORT_SEARCH = (
    r"__inet_hash_connect|__inet_check_established|__inet6_check_established|inet_csk_get_port"
    r"|inet_csk_find_open_port|inet_csk_bind_conflict|inet_bind_conflict|inet_hash_connect|inet_bhash2_conflict"
)
NETFILTER = r"^nft_|^ipt_do_table|^nf_hook|^nf_conntrack|^br_nf_|^xt_|iptable_|ip6t_do_table"
#: The loops of the packet filters over their rules.
_RULE_LOOPS = r"^nft_do_chain|^ipt_do_table|^ip6t_do_table|^ebt_do_table"
_FRAME_SAMPLES = 30


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
    """Handshakes a second that were sent again, while several wait for one peer elsewhere that does not take them.

    Nothing where several addresses have as many: then the path that they share loses them, not each peer.
    """
    elsewhere = [
        row
        for row in view.rows("tcp_destinations")
        if row.text("peer") != row.text("source") and not row.text("peer").startswith(("127.", "::1"))
    ]
    top = max(elsewhere, key=lambda row: read_cell(row, "syn_sent"), default=None)
    again = read_event_rate(view, "tcp.syn_retrans_per_s")
    if top is None or not again.citations or read_cell(top, "syn_sent") < MIN_UNANSWERED:
        return ()
    waiting: Counter[str] = Counter()
    for row in elsewhere:
        waiting[row.text("peer")] += int(read_cell(row, "syn_sent"))
    if sum(count >= MIN_UNANSWERED for count in waiting.values()) > 1:
        return ()
    peer = f"{top.text('peer')}:{top.text('port')}"
    detail: Detail = {
        "peer": peer,
        "waiting": int(read_cell(top, "syn_sent")),
        "established": int(read_cell(top, "established")),
    }
    return (
        Measurement(
            again.value,
            build_destination_subject(top),
            merge_citations((*again.citations, *(row.citation for row in elsewhere))),
            round(again.count),
            detail=detail,
            interval=again.interval,
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
    opened = read_event_rate(view, "tcp.active_opens_per_s")
    rates: dict[str, float] = {}
    for row in view.rows("syscalls"):
        if row.text("syscall") == "connect":
            key = row.text("pid") or row.text("tid")
            rates[key] = rates.get(key, 0.0) + read_cell(row, "rate")
    for subject, calls, _, row in _connects(view):
        per_s = rates[subject[0][1]]
        if opened.citations and per_s > 0:
            failed = max(0.0, 100.0 * (1.0 - opened.value / per_s))
            mine = [
                item
                for item in view.rows("syscalls")
                if (item.text("pid") or item.text("tid")) == subject[0][1]
            ]
            cited = merge_citations((*opened.citations, *(item.citation for item in mine)))
            yield Measurement(
                failed,
                subject,
                cited,
                int(calls),
                detail={
                    "per_s": round(per_s, 1),
                    "opened_per_s": round(opened.value, 1),
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


@dataclass(frozen=True, slots=True)
class _Refused:
    """Connections that this host opened: how many failed at once, how many of them without a route, and all."""

    failed: float
    routeless: float
    total: float
    seconds: float
    citations: tuple[Citation, ...]


def _count_refused(view: HostView) -> _Refused:
    """Return the connections of this host that failed at once.

    AttemptFails counts connections that were refused before they were open, on both sides (RFC 4022); those of clients
    of this host that left during their handshake are EmbryonicRsts. A connection without a route counts as neither.
    """
    fails, left, routeless, opened = rates = [
        read_event_rate(view, metric)
        for metric in (
            "tcp.attempt_fails_per_s", "tcp.embryonic_rsts_per_s", "net.ip_no_routes_per_s", "tcp.active_opens_per_s",
        )
    ]  # fmt: skip
    failed = max(0.0, fails.count - left.count) + routeless.count
    cites = (
        merge_citations(citation for rate in rates for citation in rate.citations) if fails.citations else ()
    )
    return _Refused(failed, routeless.count, opened.count + routeless.count, fails.seconds, cites)


def _refused(view: HostView) -> Sequence[Measurement]:
    """Percent of the connections that this host opens which are refused or have no route."""
    now = _count_refused(view)
    if not now.citations or now.total <= 0:
        return ()
    doubts: tuple[Sentence, ...] = ()
    before = _count_refused(view.baseline) if view.baseline is not None else None
    if before is not None and before.failed > 0 and before.total > 0:
        high = estimate_event_share(before.failed, before.total).high
        if estimate_event_share(now.failed, now.total).low <= high:
            doubts = (Sentence("doubt.as_before", {"before": round(before.failed)}),)
    own = read_event_rate(view, "tcp.out_rsts_per_s").count
    failed = min(now.failed, now.total)
    detail: Detail = {
        "per_s": round(failed / now.seconds, 1),
        "routeless": round(100.0 * now.routeless / failed) if failed else 0,
        "local": round(100.0 * min(1.0, own / failed)) if failed else 0,
    }
    return (measure_event_share(failed, now.total, (), now.citations, 100.0, doubts, detail),)


def _measure(name: str, unit: str, en: str, zh: str, read: object, *needs: str) -> Measure:
    return Measure(name, unit, Text(en, zh), tuple((need,) for need in needs), read)  # type: ignore[arg-type]


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
RULES_PCT = _measure(
    "stacks.firewall_rules_pct",
    "pct",
    "CPU time in loops over firewall rules",
    "逐条匹配防火墙规则的 CPU 占比",
    lambda view: _on_cpu(view, _RULE_LOOPS, by_process=False),
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
REFUSED_PCT = _measure(
    "net.refused_connects_pct", "pct", "Connections refused or routeless", "被拒绝或无路由的连接", _refused, "snmp",
)  # fmt: skip

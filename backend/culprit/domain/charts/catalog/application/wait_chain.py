"""Chart of wait chains: futex waits with the thread that ended each, up to the system call at the end of a chain."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.bodies.figure import Figure
from culprit.domain.charts.bodies.graph import Graph, GraphEdge, GraphNode, NodeKind
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.citations import read_figure
from culprit.domain.charts.syscall_classes import SyscallClass, classify_syscall
from culprit.domain.rules.view import HostView, TableRow, request_view

MAX_EDGES = 40
#: Minimum length of a wait, as a share of the longest.
MIN_SHARE = 0.01
TITLE = Text("Which thread waited for which", "谁在等谁")
JAVA = Text("Which Java thread holds the lock of which", "Java 线程锁的持有关系")
_ENDS: dict[SyscallClass, NodeKind] = {
    "network": "network",
    "ipc": "network",
    "file": "file",
    "sleep": "sleep",
}


def build_charts(view: HostView) -> Sequence[RunChart]:
    """Return a chart of futex waits from strace, and a chart of monitors from Java thread dumps."""
    results = (_build_futex_chart(view), _build_monitor_chart(view))
    return [item for item in results if item is not None]


def _build_futex_chart(view: HostView) -> RunChart | None:
    rows = [
        row for row in view.rows("strace_futex") if row.number("tid") is not None and _read_wait_ms(row) > 0
    ]
    rows.sort(key=lambda row: -_read_wait_ms(row))
    longest = [row for row in rows[:MAX_EDGES] if _read_wait_ms(row) >= MIN_SHARE * _read_wait_ms(rows[0])]
    names: dict[str, str] = {}
    edges: list[GraphEdge] = []
    own_ms = dict.fromkeys((row.text("tid") for row in longest), 0.0)
    for row in longest:
        waiter, waker = row.text("tid"), row.text("waker_tid") or f"?{row.text('address')}"
        waited = Figure(_read_wait_ms(row), "ms", row.citation)
        own_ms[waiter] += waited.value
        names[waiter] = f"{row.text('comm')} {waiter}".strip()
        names.setdefault(waker, f"{row.text('waker')} {waker}".strip() if waker[0] != "?" else "?")
        edges.append(
            GraphEdge(waiter, waker, row.text("address"), waited, read_figure(row, "waits", "count"))
        )
    if not edges:
        return None
    nodes = [GraphNode(tid, name, "other" if tid[0] == "?" else "thread") for tid, name in names.items()]
    tops = _find_longest_calls(view)
    for tid in names:
        top = tops.get(tid)
        if top is not None and (top.number("total") or 0.0) > own_ms.get(tid, 0.0):
            node, edge = _build_last_node(tid, top)
            nodes.append(node)
            edges.append(edge)
    body = Graph(tuple(nodes), tuple(edges))
    left_out = len(rows) - len(longest)
    return RunChart(BUILDER.id, BUILDER.id, TITLE, view.scope, body=body, left_out=left_out)


def _read_wait_ms(row: TableRow) -> float:
    figure = read_figure(row, "total_wait", "ms")
    return figure.value if figure is not None else 0.0


def _find_longest_calls(view: HostView) -> dict[str, TableRow]:
    """Return for each thread the call with most of its time, locks excluded."""
    table_rows: dict[str, TableRow] = {}
    for row in view.rows("strace_calls"):
        tid, total = row.text("tid"), read_figure(row, "total", "ms")
        if total is None or row.text("syscall") == "futex":
            continue
        if tid not in table_rows or total.value > (table_rows[tid].number("total") or 0.0):
            table_rows[tid] = row
    return table_rows


def _build_last_node(tid: str, row: TableRow) -> tuple[GraphNode, GraphEdge]:
    """Return the node and the edge of the system call at the end of a chain, which took longer than any lock."""
    call, what = row.text("syscall"), row.text("what")
    total = read_figure(row, "total", "ms") or Figure(0.0, "ms", row.citation)
    node = GraphNode(
        f"end:{tid}", f"{call} {what}".strip()[:80], _ENDS.get(classify_syscall(call, what), "other"), total
    )
    return node, GraphEdge(tid, node.id, call, total, read_figure(row, "calls", "count"))


def _build_monitor_chart(view: HostView) -> RunChart | None:
    """Return the chart of threads that wait for a monitor, with its owner; weights are numbers of thread dumps."""
    rows = [row for row in view.rows("java_threads") if row.text("owner") and row.text("waits_for")]
    rows.sort(key=lambda row: -(row.number("dumps") or 0.0))
    edges = [edge for edge in (_build_lock_edge(row) for row in rows[:MAX_EDGES]) if edge is not None]
    if not edges:
        return None
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    stored = {row.text("name"): row for row in view.rows("java_threads")}
    nodes = [GraphNode(name, name, "thread", _read_cpu(stored.get(name))) for name in names]
    waiting = {edge.source for edge in edges}
    for name, row in ((name, stored[name]) for name in names if name not in waiting and name in stored):
        dumps, frame = read_figure(row, "same_top", "dumps"), row.text("top_frame")
        if dumps is not None and frame:
            at: NodeKind = (
                "cpu" if row.text("state") == "RUNNABLE" else "sleep" if "sleep" in frame else "other"
            )
            nodes.append(GraphNode(f"end:{name}", frame[:80], at))
            edges.append(GraphEdge(name, f"end:{name}", row.text("state"), dumps))
    left_out = max(0, len(rows) - MAX_EDGES)
    return RunChart(
        f"{BUILDER.id}:java",
        BUILDER.id,
        JAVA,
        view.scope,
        body=Graph(tuple(nodes), tuple(edges)),
        left_out=left_out,
    )


def _build_lock_edge(row: TableRow) -> GraphEdge | None:
    dumps = read_figure(row, "dumps", "dumps")
    if dumps is None:
        return None
    return GraphEdge(
        row.text("name"), row.text("owner"), row.text("lock_class") or row.text("waits_for"), dumps
    )


def _read_cpu(row: TableRow | None) -> Figure | None:
    return read_figure(row, "cpu", "ms") if row is not None else None


BUILDER = ChartBuilder(
    id="wait-chain",
    title=TITLE,
    summary=Text(
        "An arrow leads from a thread that waited to the one whose wake ended the wait, with the time it cost; follow "
        "it to the end: what the last thread waits for (a socket, a file, a sleep) is what everybody waits for. "
        "An arrow back up is a deadlock or a lock handed round.",
        "箭头从等待的线程指向结束其等待的线程，并标出代价；顺着走到尽头："
        "最后那个线程在等的东西（套接字、文件、睡眠）就是所有线程在等的东西。向回指的箭头是死锁或轮流持锁。",
    ),
    reads=request_view(tables=["strace_futex", "strace_calls", "java_threads"]),
    collectors=("strace", "jstack"),
    rules=(
        "F-LOCK-FUTEX-PILEUP",
        "F-LOCK-FUTEX-LONG",
        "F-LOCK-FUTEX-BUSY",
        "F-LOCK-OFFCPU",
        "F-LOCK-JAVA-MONITOR",
    ),
    build=build_charts,
)

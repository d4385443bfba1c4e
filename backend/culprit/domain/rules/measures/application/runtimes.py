"""Time that runtimes spend on garbage, room in their heaps, and what each new connection costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from culprit.domain.profiles.search import list_top_functions
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail, cite_rows, read_series, share_of
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, Stacks, TableRow

_NEEDS = (("jvm_gc",),)
_THREADS = (("proc_threads",),)
_PROFILE = (("perf_record",),)
#: The collector of Go and its helpers: marking in the background, and marking that an allocation has to do itself.
GO_GC = r"^runtime\.(gcBgMarkWorker|gcAssistAlloc|gcDrain|bgsweep|bgscavenge)"
#: Libraries of cryptography. Distributions strip their symbols, so their functions cannot be distinguished.
CRYPTO = re.compile(r"lib(crypto|ssl|gnutls|nettle|hogweed|conscrypt)[.-]")
#: Libraries that speak TLS. A handshake runs a few percent of its time in them.
TLS = re.compile(r"lib(ssl|gnutls|conscrypt)[.-]")
GO_TLS = re.compile(r"^crypto/tls\.")
#: Processes below this share of the busy samples cannot be what uses the CPUs.
MIN_PROCESS_SHARE = 0.01
GO_CRYPTO = re.compile(r"^crypto/(tls|rsa|ecdsa|ecdh|internal/(bigmod|nistec|fips140))")
MS_PER_S = 1000.0
NS_PER_MS = 1e6
#: Threads of HotSpot that run while all threads of the program are stopped.
VM_THREAD, GC_WORKER = "VM Thread", "GC Thread#"
#: A pause of more than so many steps between two samples of a thread ends a stretch; a single sample may be lost.
MAX_STEPS = 2.5
MAX_FUNCTIONS = 5_000


def _read_jvm(column: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of one column of each JVM."""

    def read(view: HostView) -> Iterator[Measurement]:
        for row in view.rows("jvm_gc"):
            value = row.number(column)
            if value is not None:
                detail: Detail = {
                    "name": row.text("comm"),
                    "collections": round(row.number("collections") or 0),
                    "full": round(row.number("full_collections") or 0),
                    "seconds": round(row.number("seconds") or 0),
                    "old": round(row.number("old_used_pct") or 0),
                }
                count = round(row.number("collections") or 0)
                yield Measurement(value, (("pid", row.text("pid")),), (row.citation,), count, (), detail)

    return read


def _list_stops(view: HostView) -> Iterator[tuple[str, list[TableRow]]]:
    """Yield each JVM and its threads that run while all threads of the program are stopped.

    HotSpot names its threads: `VM Thread` runs operations at a safepoint, among them serial collections, and
    `GC Thread#N` are the workers of its parallel phases. Concurrent phases have workers of other names.
    """
    rows: dict[str, list[TableRow]] = {}
    for row in view.rows("threads"):
        if row.text("comm") == VM_THREAD or row.text("comm").startswith(GC_WORKER):
            rows.setdefault(row.text("pid"), []).append(row)
    for pid, threads in rows.items():
        if any(row.text("comm") == VM_THREAD for row in threads):
            yield pid, threads


def _longest_stop(view: HostView) -> Iterator[Measurement]:
    """The longest time for which such a thread did not pause."""
    for pid, rows in _list_stops(view):
        longest = max(rows, key=lambda row: row.number("awake_ms") or 0.0)
        detail: Detail = {"thread": longest.text("comm"), "pid": pid}
        samples = round(longest.number("samples") or 0)
        yield Measurement(
            longest.number("awake_ms") or 0.0, (("pid", pid),), cite_rows(rows), samples, (), detail
        )


def _sampled_stop(view: HostView) -> Iterator[Measurement]:
    """The longest time for which every CPU sample had such a thread: from the first to the last of these samples.

    It is a lower bound, and as exact as the samples of the profile are dense: 10 ms at 99 a second.
    """
    stacks = view.stacks.get("on_cpu")
    if stacks is None or not stacks.profile.table.has_time:
        return
    table = stacks.profile.table
    names = table.comms.all()
    is_stop = np.array([name == VM_THREAD or name.startswith(GC_WORKER) for name in names], bool)
    rows = np.flatnonzero(is_stop[table.comm]) if len(names) else np.zeros(0, np.int64)
    for pid in np.unique(table.pid[rows]).tolist():
        own = rows[table.pid[rows] == pid]
        t_ns = np.unique(table.t_ns[own])
        steps = np.diff(t_ns)
        if len(steps) == 0:
            continue
        edges = np.flatnonzero(steps > MAX_STEPS * np.median(steps)) + 1
        stretches = np.split(t_ns, edges)
        longest = max(stretches, key=lambda stretch: int(stretch[-1] - stretch[0]))
        detail: Detail = {"pid": str(pid), "samples": len(longest), "stops": len(stretches)}
        citation = replace(stacks.citation, frame=VM_THREAD)
        value = float(longest[-1] - longest[0]) / NS_PER_MS
        yield Measurement(value, (("pid", str(pid)),), (citation,), len(own), stacks.quality_issues(), detail)


def _stop_of_server(view: HostView) -> Iterator[Measurement]:
    """The longest sampled stop of each JVM that has connections from clients."""
    servers = {row.text("pid"): row for row in view.rows("tcp_waits") if row.text("direction") == "in"}
    for item in _sampled_stop(view):
        row = servers.get(dict(item.subject)["pid"])
        if row is not None:
            yield replace(item, citations=(*item.citations, row.citation))


def _stop_on_cpu(view: HostView) -> Iterator[Measurement]:
    """Percent of the time in which these threads did not sleep that they were on a CPU."""
    for pid, rows in _list_stops(view):
        awake = sum(row.number("running_pct") or 0.0 for row in rows)
        on_cpu = sum(row.number("cpu_pct") or 0.0 for row in rows)
        if awake > 0:
            yield Measurement(min(100.0, 100.0 * on_cpu / awake), (("pid", pid),), cite_rows(rows), len(rows))


def _stopped_pct(view: HostView) -> Iterator[Measurement]:
    """Percent of the time in which the busiest of these threads ran or waited for a CPU."""
    for pid, rows in _list_stops(view):
        busiest = max(row.number("running_pct") or 0.0 for row in rows)
        yield Measurement(busiest, (("pid", pid),), cite_rows(rows), len(rows), (), {"pid": pid})


def _lifetime(view: HostView) -> Iterator[Measurement]:
    """Mean life of a connection in milliseconds: open ones divided by those that begin in a second (Little's law)."""
    opens = [
        item
        for metric in ("tcp.passive_opens_per_s", "tcp.active_opens_per_s")
        for item in read_series(view, MetricReading(metric))
    ]
    established = read_series(view, MetricReading("tcp.estab"))
    rate = max((item.value for item in opens), default=0.0)
    if established and rate > 0:
        cites = (*established[0].citations, *(cite for item in opens for cite in item.citations))
        detail: Detail = {"rate": round(rate), "open": round(established[0].value)}
        yield Measurement(1000.0 * established[0].value / rate, (), cites, round(rate), (), detail)


def _list_tls_pids(stacks: Stacks) -> list[int]:
    """Return the processes that run a TLS library, of those with at least a hundredth of the busy samples.

    Cryptography without such a library is no TLS: databases and programs that hash passwords use libcrypto too.
    """
    busy = stacks.profile.view(SampleFilter(hide_idle=True))
    pids, counts = np.unique(stacks.profile.table.pid[busy.rows], return_counts=True)
    return [
        pid
        for pid, count in zip(pids.tolist(), counts.tolist(), strict=True)
        if count >= MIN_PROCESS_SHARE * counts.sum()
        and any(
            TLS.search(row.module) or GO_TLS.match(row.frame)
            for row in list_top_functions(stacks.profile.view(SampleFilter(pid=(pid,))), MAX_FUNCTIONS)
        )
    ]


def _crypto_share(view: HostView) -> Iterator[Measurement]:
    """Percent of the busy CPU samples in libraries of cryptography, of processes that run a TLS library."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return
    busy = stacks.profile.view(SampleFilter(hide_idle=True))
    pids = _list_tls_pids(stacks)
    own = stacks.profile.view(SampleFilter(pid=tuple(pids), hide_idle=True))
    rows = [
        row
        for row in (list_top_functions(own, MAX_FUNCTIONS) if pids else ())
        if CRYPTO.search(row.module) or GO_CRYPTO.match(row.frame)
    ]
    share = sum(row.own for row in rows) / busy.weight if busy.weight else 0.0
    citation = replace(stacks.citation, frame="libcrypto")
    interval = estimate_share(share, busy.samples)
    detail: Detail = {"frames": ", ".join(sorted({row.module for row in rows})[:3])}
    yield Measurement(
        100.0 * share, (), (citation,), busy.samples, stacks.quality_issues(), detail, interval=interval
    )


def _crypto_ms(view: HostView) -> Iterator[Measurement]:
    """CPU time in libraries of cryptography for each connection that was accepted."""
    shares, busy = list(_crypto_share(view)), read_series(view, MetricReading("cpu.total_busy_pct"))
    opens = read_series(view, MetricReading("tcp.passive_opens_per_s"))
    if view.cpus and shares and busy and opens and opens[0].value > 0:
        cpu_ms = view.cpus * shares[0].value / 100.0 * busy[0].value / 100.0 * MS_PER_S
        cites = (*shares[0].citations, *busy[0].citations, *opens[0].citations)
        yield Measurement(cpu_ms / opens[0].value, (), cites, round(opens[0].value))


def _opens_per_cpu(view: HostView) -> Iterator[Measurement]:
    """Connections that begin in a second on each CPU, accepted or opened."""
    if not view.cpus:
        return
    for metric in ("tcp.passive_opens_per_s", "tcp.active_opens_per_s"):
        for item in read_series(view, MetricReading(metric)):
            yield Measurement(item.value / view.cpus, (), item.citations, item.sample_count)


GC_TIME = build_listed_measure(
    "jvm.gc_pct", "pct", "Time in garbage collection", "垃圾回收时间占比", _NEEDS, _read_jvm("gc_pct")
)
GC_PAUSE = build_listed_measure(
    "jvm.mean_pause_ms",
    "ms",
    "Mean pause for garbage collection",
    "垃圾回收平均停顿",
    _NEEDS,
    _read_jvm("mean_pause"),
)
LONGEST_STOP = build_listed_measure(
    "jvm.longest_stop_ms", "ms", "Longest stop of a JVM", "JVM 最长停顿", _THREADS, _longest_stop
)
SAMPLED_STOP = build_listed_measure(
    "jvm.longest_sampled_stop_ms",
    "ms",
    "Longest stop of a JVM in the profile",
    "剖析中 JVM 最长停顿",
    _PROFILE,
    _sampled_stop,
)
SERVER_STOP = build_listed_measure(
    "jvm.longest_server_stop_ms",
    "ms",
    "Longest stop of a JVM that has clients, in the profile",
    "剖析中有客户端的 JVM 的最长停顿",
    (*_PROFILE, ("tcp_waits",)),
    _stop_of_server,
)
STOP_ON_CPU = build_listed_measure(
    "jvm.stop_on_cpu_pct",
    "pct",
    "On a CPU while the program is stopped",
    "暂停期间占用 CPU 的比例",
    _THREADS,
    _stop_on_cpu,
)
STOPPED = build_listed_measure(
    "jvm.stopped_pct", "pct", "Time in which a JVM is stopped", "JVM 停顿时间占比", _THREADS, _stopped_pct
)
FULL_COLLECTIONS = build_listed_measure(
    "jvm.full_collections_count",
    "count",
    "Full collections",
    "Full GC 次数",
    _NEEDS,
    _read_jvm("full_collections"),
)
OLD_USED = build_listed_measure(
    "jvm.old_used_pct", "pct", "Old generation in use", "老年代使用率", _NEEDS, _read_jvm("old_used_pct")
)
GO_GC_SHARE = build_listed_measure(
    "go.gc_pct",
    "pct",
    "CPU in the garbage collector of Go",
    "Go 垃圾回收 CPU 占比",
    _PROFILE,
    share_of("on_cpu", GO_GC),
)
CRYPTO_SHARE = build_listed_measure(
    "tls.crypto_pct", "pct", "CPU in libraries of cryptography", "密码库 CPU 占比", _PROFILE, _crypto_share
)
CRYPTO_MS = build_listed_measure(
    "tls.ms_per_connection", "ms", "CPU in cryptography for each new connection", "每个新连接的密码运算 CPU",
    (("perf_record",), ("snmp",), ("cpu_stat",)), _crypto_ms,
)  # fmt: skip
LIFETIME = build_listed_measure(
    "tcp.connection_life_ms", "ms", "Mean life of a connection", "连接平均存活时间", (("snmp",),), _lifetime
)
OPENS_PER_CPU = build_listed_measure(
    "tcp.opens_per_cpu_per_s",
    "per_s",
    "New connections for each CPU",
    "每个 CPU 的新建连接",
    (("snmp",),),
    _opens_per_cpu,
)

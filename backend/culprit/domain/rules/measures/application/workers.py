"""Workers behind listening sockets, and what logs report about limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.places import build_process_subject, cite_process
from culprit.domain.rules.measures.service_time.services import index_rows, sum_column
from culprit.domain.rules.view import HostView, TableRow

_POOLS = (("worker_pools",),)
_LOGS = (("server_logs",),)


def _subject(row: TableRow) -> Subject:
    return (("listener", row.text("address")), ("process", row.text("comm")))


def _describe(row: TableRow) -> Detail:
    return {
        "name": row.text("comm"),
        "address": row.text("address"),
        "workers": row.number("workers") or 0.0,
        "queue": row.number("queue") or 0.0,
        "connections": row.number("connections_max") or 0.0,
    }


def _share_of_samples(column: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of the percentage of samples that a column counts."""

    def read(view: HostView) -> Iterator[Measurement]:
        for row in view.rows("worker_pools"):
            hits, samples = row.number(column), round(row.number("samples") or 0)
            if hits is not None and samples > 0:
                value = 100.0 * hits / samples
                interval = estimate_share(hits / samples, samples)
                yield Measurement(
                    value, _subject(row), (row.citation,), samples, (), _describe(row), interval=interval
                )

    return read


def _column(name: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of one column of each pool."""

    def read(view: HostView) -> Iterator[Measurement]:
        for row in view.rows("worker_pools"):
            value = row.number(name)
            if value is not None:
                yield Measurement(value, _subject(row), (row.citation,), round(row.number("samples") or 0))

    return read


def _cpu_of_worker(view: HostView) -> Iterator[Measurement]:
    """CPU of the mean worker, in percent of one CPU."""
    for row in view.rows("worker_pools"):
        cpu, workers = row.number("cpu"), row.number("workers")
        if cpu is not None and workers:
            yield Measurement(cpu / workers, _subject(row), (row.citation,), 1)


def _messages(kind: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of how often logs reported one kind of limit during the capture."""

    def read(view: HostView) -> Iterator[Measurement]:
        rows = [row for row in view.rows("limit_messages") if row.text("kind") == kind]
        for row in rows:
            count = row.number("count") or 0.0
            yield Measurement(count, (), (row.citation,), round(count), (), {"name": row.text("comm")})
        if not rows and (logs := view.rows("growing_logs")):
            yield Measurement(0.0, (), tuple(row.citation for row in logs), 0, (), {"name": ""})

    return read


def _use_of_files(view: HostView) -> Iterator[Measurement]:
    """Percent of its open files that the process behind a listener uses."""
    counts = index_rows(view.rows("fd_counts"))
    for pool in view.rows("worker_pools"):
        for row in counts.get(pool.text("pid"), ()):
            if (used := row.number("used_pct")) is not None:
                detail: Detail = {
                    "name": pool.text("comm"),
                    "open": row.text("open_last"),
                    "limit": row.text("limit"),
                }
                subject = tuple(sorted((*_subject(pool), ("pid", pool.text("pid")))))
                yield Measurement(used, subject, cite_rows((pool, row)), 1, (), detail)


def _wait_for_events(view: HostView) -> Iterator[Measurement]:
    """Percent of the time in which the event loops behind a listener sleep until something happens.

    A loop that may accept would wake up for a connection that waits.
    """
    times = index_rows(view.rows("thread_time"))
    children = index_rows(view.rows("process_time"), "ppid")
    processes = index_rows(view.rows("process_time"))
    for pool in view.rows("worker_pools"):
        pid = pool.text("pid")
        family = [
            *processes.get(pid, ()),
            *(row for row in children.get(pid, ()) if row.text("comm") == pool.text("comm")),
        ]
        waits = [
            (row, [each for each in times.get(row.text("pid"), ()) if each.text("activity") == "events"])
            for row in family
        ]
        loops = [row for row, events in waits if events]
        events = [each for _, rows in waits for each in rows]
        wall_ms = sum_column(loops, "wall_ms")
        if wall_ms > 0:
            share = min(1.0, sum_column(events, "time_ms") / wall_ms)
            samples = round(sum_column(events, "samples"))
            cites = cite_rows((pool,), family, events)
            interval = estimate_share(share, max(1, samples))
            yield Measurement(100.0 * share, _subject(pool), cites, samples, interval=interval)


def _about_log(view: HostView, row: TableRow) -> Subject:
    return tuple(sorted((*build_process_subject(view, row), ("path", row.text("path")))))


def _flood_hours(view: HostView) -> Iterator[Measurement]:
    """Hours until a growing log has used the free space of its file system."""
    for row in view.rows("growing_logs"):
        rate, free = row.number("rate"), row.number("free")
        if rate and free is not None:
            lines = row.number("lines") or 0.0
            detail: Detail = {
                "name": row.text("comm"),
                "path": row.text("path"),
                "kb": round(rate / 1024),
                "same": round(100.0 * (row.number("same") or 0.0) / lines) if lines else 0,
            }
            yield Measurement(
                free / rate / 3600.0, _about_log(view, row), cite_process(view, row), round(lines), (), detail
            )


def _top_writer(view: HostView) -> Iterator[Measurement]:
    """Percent of all bytes written by processes that one process writes."""
    rows = [row for row in view.rows("proc_io") if row.number("write_bytes_per_s")]
    whole = sum(row.number("write_bytes_per_s") or 0.0 for row in rows)
    if whole > 0:
        top = max(rows, key=lambda row: row.number("write_bytes_per_s") or 0.0)
        rate = top.number("write_bytes_per_s") or 0.0
        cites = (top.citation, *cite_rows(rows))
        detail: Detail = {"name": top.text("comm"), "kb": round(rate / 1024)}
        yield Measurement(100.0 * rate / whole, (("pid", top.text("pid")),), cites, len(rows), (), detail)


ALL_BUSY = build_listed_measure(
    "workers.all_busy_pct",
    "pct",
    "Samples with all workers busy",
    "全部工作进程忙碌的采样",
    _POOLS,
    _share_of_samples("all_busy"),
)
QUEUED = build_listed_measure(
    "workers.queued_pct",
    "pct",
    "Samples with waiting connections",
    "有连接等待的采样",
    _POOLS,
    _share_of_samples("queued_samples"),
)
AT_MAX = build_listed_measure(
    "workers.at_max_pct",
    "pct",
    "Samples with the most connections",
    "连接数处于最大值的采样",
    _POOLS,
    _share_of_samples("at_max"),
)
QUEUE = build_listed_measure(
    "workers.queue_count", "count", "Connections that wait", "等待的连接", _POOLS, _column("queue")
)
PER_WORKER = build_listed_measure(
    "workers.per_worker_count",
    "count",
    "Connections of one worker",
    "单个工作进程的连接",
    _POOLS,
    _column("per_worker"),
)
WORKER_CPU = build_listed_measure(
    "workers.cpu_pct", "pct", "CPU of a worker", "每个工作进程的 CPU", _POOLS, _cpu_of_worker
)
EVENT_WAIT = build_listed_measure(
    "workers.event_wait_pct",
    "pct",
    "Time in which the event loop sleeps",
    "事件循环休眠的时间",
    (*_POOLS, ("proc_threads",)),
    _wait_for_events,
)
FILES_USED = build_listed_measure(
    "workers.files_used_pct",
    "pct",
    "Open files of a server against its limit",
    "服务打开文件数占限额",
    (*_POOLS, ("fd_table",)),
    _use_of_files,
)
CONNECTIONS_FULL, WORKERS_FULL, DATABASE_FULL, NAMES_FAIL, FILES_FULL, SPACE_FULL, PROCESSES_FULL = (
    build_listed_measure(f"logs.{kind}_count", "count", en, zh, _LOGS, _messages(kind))
    for kind, en, zh in (
        ("connections_full", "Log lines about a limit of connections", "日志中报告连接上限的行"),
        ("workers_full", "Log lines about a limit of workers", "日志中报告工作进程上限的行"),
        ("database_full", "Log lines about a limit of database connections", "日志中报告数据库连接上限的行"),
        ("names_fail", "Log lines about failed name resolution", "日志中报告域名解析失败的行"),
        ("files_full", "Log lines about a limit of open files", "日志中报告打开文件上限的行"),
        ("space_full", "Log lines about a full file system", "日志中报告空间不足的行"),
        ("processes_full", "Log lines about a limit of processes", "日志中报告进程数上限的行"),
    )
)
FLOOD_HOURS = build_listed_measure(
    "logs.hours_to_full",
    "h",
    "Time until a log fills its file system",
    "日志写满文件系统的时间",
    _LOGS,
    _flood_hours,
)
TOP_WRITER = build_listed_measure(
    "io.top_writer_pct",
    "pct",
    "Bytes written by one process",
    "单个进程写入占比",
    (("proc_io",),),
    _top_writer,
)

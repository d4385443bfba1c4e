"""Workers behind listening sockets, and who writes most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.application.counters import build_listed_measure
from culprit.domain.rules.measures.derived import Detail, cite_rows
from culprit.domain.rules.measures.service_time.services import index_rows, sum_column
from culprit.domain.rules.view import HostView, TableRow

_POOLS = (("worker_pools",),)


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
TOP_WRITER = build_listed_measure(
    "io.top_writer_pct",
    "pct",
    "Bytes written by one process",
    "单个进程写入占比",
    (("proc_io",),),
    _top_writer,
)

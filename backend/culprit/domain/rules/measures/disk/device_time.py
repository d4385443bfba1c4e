"""Time of block devices: requests in flight by kind, requests beyond what the device needs, tasks without a request.

By Little's law, requests a second times their time is the number of requests in flight on average: it depends on no
size of a host and needs no count of hardware queues. A request to a mapped device (dm, md) is counted at the devices
below alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from collectors.contract import Values
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series
from culprit.domain.rules.readings import cite_series, measure_spans_s, reduce_values
from culprit.domain.rules.rule import MetricReading, Reduction
from culprit.domain.rules.view import HostView, ViewSeries

#: What a request needs at most without a queue: seek and half a turn at 7200 rpm with a margin, flash behind SATA,
#: flash behind PCIe (data sheets). What the kernel calls rotational may be a virtual disk: the mildest bound holds.
ROTATING_MS, SATA_FLASH_MS, NVME_MS = 20.0, 5.0, 2.0
#: A mean of fewer requests does not show what the device needs.
_ENOUGH_REQUESTS = 10.0
_READS, _WRITES, _FLUSHES = ("r_iops", "r_await_ms"), ("w_iops", "w_await_ms"), ("flush_per_s", "f_await_ms")
Columns = Mapping[str, Values]


def list_stacked_devices(view: HostView) -> set[str]:
    """The devices that are mapped to others, whose requests are counted there."""
    stacked = {row.text("dev") for row in view.rows("block_devices") if row.text("slaves")}
    known = {row.text("dev") for row in view.rows("block_devices")}
    named = {series.labels.get("dev", "") for series in view.series_of("disk.r_iops")}
    return stacked | {dev for dev in named - known if dev.startswith(("dm-", "md"))}


def find_needed_ms(view: HostView) -> Callable[[str], float]:
    """Return how long a request of each device takes without a queue, at most."""
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}

    def find(dev: str) -> float:
        if dev.startswith("nvme"):
            return NVME_MS
        return SATA_FLASH_MS if rotating.get(dev) == 0 else ROTATING_MS

    return find


def _list_devices(view: HostView) -> Iterator[tuple[str, ViewSeries, Columns]]:
    """Each device that is mapped to no other, with the readings of all its metrics in the rows of one of them."""
    stacked = list_stacked_devices(view)
    for series in view.series_of("disk.r_iops"):
        dev = series.labels.get("dev", "")
        if dev in stacked:
            continue
        columns = {}
        for name in ("r_iops", "r_await_ms", "w_iops", "w_await_ms", "flush_per_s", "f_await_ms"):
            for other in view.series_of(f"disk.{name}", {"dev": dev}):
                if len(other.t_ns) == len(series.t_ns):
                    columns[name] = np.asarray(other.values[:, 0])
        yield dev, series, columns


def _count_in_flight(columns: Columns, *kinds: tuple[str, str], needed_ms: float = 0.0) -> Values | None:
    """Requests in flight [n] of these kinds; with `needed_ms`, those that wait beyond it."""
    parts = []
    for rate, wait in kinds:
        if rate in columns:
            waited = columns.get(wait, np.full(len(columns[rate]), np.nan))
            beyond = np.fmax(np.nan_to_num(waited) - needed_ms, 0.0)
            parts.append(
                np.where(np.isnan(columns[rate]), np.nan, np.nan_to_num(columns[rate]) * beyond / 1e3)
            )
    return np.sum(parts, axis=0) if parts else None


def _measure(series: ViewSeries, dev: str, values: Values | None, how: Reduction) -> Iterator[Measurement]:
    if values is None:
        return
    rows = np.flatnonzero(~np.isnan(values))
    if len(rows):
        weights = measure_spans_s(series.t_ns)[rows]
        cites = (cite_series(series, values, rows, how),)
        value = reduce_values(values[rows], how, weights)
        yield Measurement(value, (("dev", dev),), cites, len(rows), (), {"dev": dev})


def _queued(view: HostView) -> list[Measurement]:
    """Requests that wait beyond the time that the device needs, in most readings."""
    needed = find_needed_ms(view)
    return [
        item
        for dev, series, columns in _list_devices(view)
        for item in _measure(
            series, dev, _count_in_flight(columns, _READS, _WRITES, needed_ms=needed(dev)), "held"
        )
    ]


def _queue_share(view: HostView) -> list[Measurement]:
    """Percent of the time of requests that is a queue, by what the device itself needed at its best moment.

    A device that is never without a queue in the capture is measured by what its class needs.
    """
    needed = find_needed_ms(view)
    results = []
    for dev, series, columns in _list_devices(view):
        spans = measure_spans_s(series.t_ns)
        total, queued = 0.0, 0.0
        own: list[float] = []
        for rate, wait in (_READS, _WRITES):
            if rate not in columns or wait not in columns:
                continue
            rates, waits = np.nan_to_num(columns[rate]), columns[wait]
            sure = waits[(rates * spans >= _ENOUGH_REQUESTS) & ~np.isnan(waits)]
            best = min(needed(dev), float(sure.min())) if len(sure) else needed(dev)
            held = np.nan_to_num(waits) * rates * spans
            beyond = np.fmax(np.nan_to_num(waits) - best, 0.0) * rates * spans
            total, queued = total + float(held.sum()), queued + float(beyond.sum())
            own.append(best)
        if total <= 0:
            continue
        rows = np.flatnonzero(~np.isnan(columns["r_iops"]))
        cites = tuple(
            cite_series(other, other.values[:, 0], rows, "mean")
            for name in ("r_iops", "r_await_ms", "w_iops", "w_await_ms")
            for other in view.series_of(f"disk.{name}", {"dev": dev})
            if len(other.t_ns) == len(series.t_ns)
        )
        seconds = float(spans[rows].sum())
        detail: Detail = {
            "dev": dev,
            "needed_ms": round(min(own), 2),
            "requests": round(total / 1e3 / seconds, 1) if seconds else 0.0,
        }
        results.append(Measurement(100.0 * queued / total, (("dev", dev),), cites, len(rows), (), detail))
    return results


def _in_flight(view: HostView, *kinds: tuple[str, str]) -> list[Measurement]:
    return [
        item
        for dev, series, columns in _list_devices(view)
        for item in _measure(series, dev, _count_in_flight(columns, *kinds), "mean")
    ]


def _percent(items: list[Measurement]) -> list[Measurement]:
    """Requests in flight as a share of the time of a thread that waits for each: it may exceed 100."""
    return [replace(item, value=100.0 * item.value) for item in items]


def _without_request(view: HostView) -> list[Measurement]:
    """Tasks that wait for I/O, less the requests that devices are working on.

    A task that reads or writes waits for a request. Where many more wait than there are requests, something holds them
    back before the device: a limit, a file server, a frozen file system, or a few requests that all of them need.
    """
    stacked = list_stacked_devices(view)
    requests = [
        item
        for item in read_series(view, MetricReading("disk.aqu", "mean"))
        if dict(item.subject).get("dev", "") not in stacked
    ]
    total = sum(item.value for item in requests)
    cites = tuple(citation for item in requests for citation in item.citations)
    return [
        replace(
            item,
            value=max(0.0, item.value - total),
            interval=Interval("sampled", max(0.0, item.low - total), max(0.0, item.high - total)),
            citations=(*item.citations, *cites),
            detail={"waiting": round(item.value, 1), "requests": round(total, 2)},
        )
        for item in read_series(view, MetricReading("sched.blocked", "mean"))
    ]


def _share_without_request(view: HostView) -> list[Measurement]:
    """Of the tasks that wait for I/O, the share that no request explains."""
    waiting = {item.subject: item for item in read_series(view, MetricReading("sched.blocked", "mean"))}
    return [
        replace(
            item,
            value=100.0 * item.value / whole.value,
            interval=None if item.interval is None else item.interval.scale(100.0 / whole.value),
        )
        for item in _without_request(view)
        if (whole := waiting.get(item.subject)) is not None and whole.value > 0
    ]


QUEUED = build_measure(
    "disk.queued_requests",
    "count",
    "Requests that wait beyond the time that the device needs",
    "超出设备所需时间而等待的请求数",
    (("iostat",),),
    _queued,
)
QUEUE_SHARE = build_measure(
    "disk.queue_of_time_pct",
    "pct",
    "Time of requests in the queue of the device",
    "请求耗时中在设备队列的占比",
    (("iostat",),),
    _queue_share,
)
READING = build_measure(
    "disk.reads_in_flight",
    "count",
    "Reads in flight on average",
    "平均在途读请求数",
    (("iostat",),),
    lambda view: _in_flight(view, _READS),
)
IN_FLIGHT = build_measure(
    "disk.requests_in_flight",
    "count",
    "Reads and writes in flight on average",
    "平均在途读写请求数",
    (("iostat",),),
    lambda view: _in_flight(view, _READS, _WRITES),
)
WRITE_TIME = build_measure(
    "disk.write_time_pct",
    "pct",
    "Time in writes and flushes of the device",
    "设备写与刷新的时间占比",
    (("iostat",),),
    lambda view: _percent(_in_flight(view, _WRITES, _FLUSHES)),
)
FLUSH_TIME = build_measure(
    "disk.flush_time_pct",
    "pct",
    "Time in flushes of the device",
    "设备刷新的时间占比",
    (("iostat",),),
    lambda view: _percent(_in_flight(view, _FLUSHES)),
)
WITHOUT_REQUEST = build_measure(
    "tasks.waiting_without_request",
    "count",
    "Tasks that wait for I/O without a request at a device",
    "等待 I/O 而设备上没有对应请求的任务数",
    (("vmstat",), ("iostat",)),
    _without_request,
)
SHARE_WITHOUT_REQUEST = build_measure(
    "tasks.waiting_without_request_pct",
    "pct",
    "Share of the tasks that wait for I/O without a request at a device",
    "等待 I/O 的任务中设备上没有对应请求的比例",
    (("vmstat",), ("iostat",)),
    _share_without_request,
)

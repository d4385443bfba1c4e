"""Chart of load and response times of each disk, with the request rate of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.charts.bodies.panels import Panel, Panels
from culprit.domain.charts.chart import MAX_PER_BUILDER, ChartBuilder, RunChart
from culprit.domain.charts.panel_series import (
    MAX_PLAUSIBLE,
    PanelSeries,
    align_values,
    build_panel,
    compute_mean,
    compute_span,
    drop_implausible,
    find_series,
    list_series,
)
from culprit.domain.rules.measures.disk.queues import PLATEAU
from culprit.domain.rules.view import HostView, ViewSeries, request_view

_TITLE = Text("Disk over time", "磁盘随时间的变化")
_READS, _WRITES, _FLUSHES = Text("Reads", "读"), Text("Writes", "写"), Text("Flushes", "刷写")
_REQUESTS = Text("Requests of the service", "服务请求")
_EACH = Text("Writes per request", "每个请求的写次数")
#: Coefficient of variation below which the throughput of a slow disk indicates a quota (F-DISK-QUOTA-PLATEAU).
PLATEAU_PCT = 3.0
_SLOW_MS = 20.0
#: Minimum number of requests per second for a reliable ratio per request.
MIN_RATE = 0.1

_RATES = (
    ("reads", _READS, "disk.r_iops"),
    ("writes", _WRITES, "disk.w_iops"),
    ("flushes", _FLUSHES, "disk.flush_per_s"),
)
_BYTES = (("reads", _READS, "disk.read_mb_s"), ("writes", _WRITES, "disk.write_mb_s"))
_WAITS = (
    ("reads", _READS, "disk.r_await_ms"),
    ("writes", _WRITES, "disk.w_await_ms"),
    ("flushes", _FLUSHES, "disk.f_await_ms"),
)
_QUEUE = (("queue", Text("Requests in the queue", "队列中的请求"), "disk.aqu"),)
_USE = (("use", Text("Time with a request", "有请求的时间占比"), "disk.util_pct"),)


def _build_charts(view: HostView) -> Sequence[RunChart]:
    devices = sorted(_rank_devices(view).items(), key=lambda item: (-item[1], item[0]))
    rendered_devices = [
        item for name, _ in devices[:MAX_PER_BUILDER] for item in _build_device_charts(view, name)
    ]
    if rendered_devices and len(devices) > len(rendered_devices):
        rendered_devices[0] = replace(rendered_devices[0], left_out=len(devices) - len(rendered_devices))
    return rendered_devices


def _rank_devices(view: HostView) -> dict[str, float]:
    """Return {device: sort key}: the mean queue length; without a queue, utilization, then requests per second."""
    results: dict[str, float] = {}
    for metric, weight in (
        ("disk.aqu", 1.0),
        ("disk.util_pct", 1e-3),
        ("disk.w_iops", 1e-6),
        ("disk.r_iops", 1e-6),
    ):
        for series in view.series_of(metric):
            values = series.values[np.abs(series.values) <= MAX_PLAUSIBLE]
            dev = series.labels.get("dev", "")
            if dev and len(values):
                results[dev] = results.get(dev, 0.0) + weight * float(values.mean())
    return results


def _build_device_charts(view: HostView, dev: str) -> list[RunChart]:
    requests = _find_request_rate(view)
    panel_series = [PanelSeries("requests", _REQUESTS, requests)] if requests is not None else []
    new_panels = (
        build_panel(
            "rates",
            Text("Requests to the disk", "磁盘请求"),
            "per_s",
            "line",
            list_series(view, _RATES, dev=dev),
            panel_series,
        ),
        _build_write_panel(view, dev, requests),
        build_panel(
            "bytes", Text("Throughput", "吞吐"), "mb_per_s", "line", list_series(view, _BYTES, dev=dev)
        ),
        build_panel(
            "waits",
            Text("Time of a request", "单次请求耗时"),
            "ms",
            "line",
            list_series(view, _WAITS, dev=dev),
        ),
        build_panel("queue", Text("Queue", "队列"), "count", "area", list_series(view, _QUEUE, dev=dev)),
        build_panel("use", Text("Utilization", "利用率"), "pct", "area", list_series(view, _USE, dev=dev)),
    )
    panels = tuple(panel for panel in new_panels if panel is not None)
    if not panels:
        return []
    body = Panels(*compute_span(panels), panels, facts=_list_rates(view, dev, requests))
    return [
        RunChart(
            f"disk-times:{dev}",
            "disk-times",
            _TITLE,
            (("dev", dev),),
            body=body,
            notes=_detect_quota(view, dev),
        )
    ]


def _build_write_panel(view: HostView, dev: str, view_series: ViewSeries | None) -> Panel | None:
    """Return the panel of disk writes per request of the service, or None if either is missing."""
    writes = next(iter(list_series(view, _RATES[1:2], dev=dev)), None)
    if writes is None or view_series is None:
        return None
    rate = align_values(PanelSeries("requests", _REQUESTS, view_series), writes.series.t_ns)
    is_loaded = np.nan_to_num(rate) >= MIN_RATE
    ratio = np.divide(writes.values(), rate, out=np.full(len(rate), np.nan), where=is_loaded)
    series = replace(writes.series, values=ratio.reshape(-1, 1))
    return build_panel("per_request", _EACH, "count", "line", [PanelSeries("per_request", _EACH, series)])


def _find_request_rate(view: HostView) -> ViewSeries | None:
    """Return the request rate of the service from its log or its Prometheus, else the rate of accepted connections."""
    whole = find_series(view, "app.requests_per_s", route="*") or find_series(view, "app.requests_per_s")
    return whole or find_series(view, "app.accepts_per_s")


def _list_rates(view: HostView, dev: str, view_series: ViewSeries | None) -> tuple[tuple[Label, Figure], ...]:
    """Return the mean write and request rates of the capture, and the writes per request."""
    results: list[tuple[Label, Figure]] = []
    writes = next(iter(list_series(view, _RATES[1:2], dev=dev)), None)
    written = compute_mean(writes, "per_s") if writes else None
    rate = (
        compute_mean(PanelSeries("requests", _REQUESTS, view_series), "per_s")
        if view_series is not None
        else None
    )
    if written is not None:
        results.append((Text("Writes, mean", "平均写请求"), written))
    if rate is not None:
        results.append((Text("Requests of the service, mean", "平均服务请求"), rate))
    if written is not None and rate is not None and rate.value >= MIN_RATE:
        results.append(
            (
                _EACH,
                Figure(written.value / rate.value, "count", written.citation),
            )
        )
    return tuple(results)


def _detect_quota(view: HostView, dev: str) -> tuple[Sentence, ...]:
    """Detect constant throughput while requests wait, which indicates a quota of the disk's provider."""
    waits = [compute_mean(item, "ms") for item in list_series(view, _WAITS[:2], dev=dev)]
    slow = any(wait is not None and wait.value > _SLOW_MS for wait in waits)
    series_list = (
        [
            replace(series, values=drop_implausible(series.values))
            for series in view.series_of("disk.read_mb_s")
        ]
        if slow
        else []
    )
    read = PLATEAU.read(replace(view, series=series_list))
    if not isinstance(read, Sequence):
        return ()
    return tuple(
        Sentence("chart.plateau", {"mb_per_s": item.detail["mb_per_s"], "variation": round(item.value, 1)})
        for item in read
        if dict(item.subject).get("dev") == dev and item.value < PLATEAU_PCT
    )


BUILDER = ChartBuilder(
    id="disk-times",
    title=_TITLE,
    summary=Text(
        "Requests that take long while the queue is long wait for the disk. If the dashed line of the service is"
        " below that of writes, each request causes several writes. Utilization alone shows little for a disk that"
        " serves many requests at once.",
        "队列长且单次请求耗时高，说明在等磁盘。服务请求（虚线）低于写请求时，每个请求引起多次写。对于能并行处理请求的磁盘，仅看利用率意义不大。",
    ),
    reads=request_view(
        metrics=(
            *(metric for rows in (_RATES, _BYTES, _WAITS, _QUEUE, _USE) for _, _, metric in rows),
            "app.requests_per_s", "app.accepts_per_s",
        ),
    ),
    collectors=("iostat",),
    rules=(
        "F-DISK-SATURATED", "F-DISK-UTIL", "F-DISK-WRITE-AMPLIFICATION", "F-DISK-READ-RATE", "F-DISK-FLUSHES",
        "F-DISK-QUOTA-PLATEAU", "F-FD-OSYNC", "F-IO-FORCED-OUT", "F-SYNC-WAIT",
    ),
    build=_build_charts,
)  # fmt: skip

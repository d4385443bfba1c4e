"""What each disk was asked for and how long it took, beside the requests that the service answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence, Text
from culprit.core.rules.measures.disk import PLATEAU
from culprit.core.rules.view import Lane, View, reads
from culprit.core.visuals.bodies.figure import Figure, Label
from culprit.core.visuals.bodies.panels import Panel, Panels
from culprit.core.visuals.contract import MAX_PER_BUILDER, Builder, Visual
from culprit.core.visuals.readings import MOST, Wanted, at_times, first, mean_of, panel, span, told, wanted

_TITLE = Text("Disk over time", "磁盘随时间的变化")
_READS, _WRITES, _FLUSHES = Text("Reads", "读"), Text("Writes", "写"), Text("Flushes", "刷写")
_REQUESTS = Text("Requests of the service", "服务请求")
_EACH = Text("Writes per request", "每个请求的写次数")
#: A coefficient of variation below this, of a disk that is slow, looks like a quota (F-DISK-QUOTA-PLATEAU).
PLATEAU_PCT = 3.0
_SLOW_MS = 20.0
#: Requests a second: of fewer nothing can be said for each of them.
LEAST_RATE = 0.1

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


def _build(view: View) -> Sequence[Visual]:
    devices = sorted(_devices(view).items(), key=lambda one: (-one[1], one[0]))
    drawn = [one for name, _ in devices[:MAX_PER_BUILDER] for one in _device(view, name)]
    if drawn and len(devices) > len(drawn):
        drawn[0] = replace(drawn[0], left_out=len(devices) - len(drawn))
    return drawn


def _devices(view: View) -> dict[str, float]:
    """Device → how long its queue was on the mean; without one, how many requests it took."""
    found: dict[str, float] = {}
    for metric, weight in (
        ("disk.aqu", 1.0),
        ("disk.util_pct", 1e-3),
        ("disk.w_iops", 1e-6),
        ("disk.r_iops", 1e-6),
    ):
        for lane in view.of(metric):
            values = lane.values[np.abs(lane.values) <= MOST]
            dev = lane.labels.get("dev", "")
            if dev and len(values):
                found[dev] = found.get(dev, 0.0) + weight * float(values.mean())
    return found


def _device(view: View, dev: str) -> list[Visual]:
    asked = _requests(view)
    beside = [Wanted("requests", _REQUESTS, asked)] if asked is not None else []
    made = (
        panel(
            "rates",
            Text("Requests to the disk", "磁盘请求"),
            "per_s",
            "line",
            wanted(view, _RATES, dev=dev),
            beside,
        ),
        _per_request(view, dev, asked),
        panel("bytes", Text("Throughput", "吞吐"), "mb_per_s", "line", wanted(view, _BYTES, dev=dev)),
        panel(
            "waits", Text("Time of a request", "单次请求耗时"), "ms", "line", wanted(view, _WAITS, dev=dev)
        ),
        panel("queue", Text("Queue", "队列"), "count", "area", wanted(view, _QUEUE, dev=dev)),
        panel("use", Text("Utilisation", "利用率"), "pct", "area", wanted(view, _USE, dev=dev)),
    )
    panels = tuple(one for one in made if one is not None)
    if not panels:
        return []
    body = Panels(*span(panels), panels, facts=_facts(view, dev, asked))
    return [
        Visual(f"disk-times:{dev}", "disk-times", _TITLE, (("dev", dev),), body=body, notes=_notes(view, dev))
    ]


def _per_request(view: View, dev: str, asked: Lane | None) -> Panel | None:
    """How many writes the disk did for each request of the service, reading by reading."""
    writes = next(iter(wanted(view, _RATES[1:2], dev=dev)), None)
    if writes is None or asked is None:
        return None
    rate = at_times(Wanted("requests", _REQUESTS, asked), writes.lane.t_ns)
    some = np.nan_to_num(rate) >= LEAST_RATE
    ratio = np.divide(writes.values(), rate, out=np.full(len(rate), np.nan), where=some)
    lane = replace(writes.lane, values=ratio.reshape(-1, 1))
    return panel("per_request", _EACH, "count", "line", [Wanted("per_request", _EACH, lane)])


def _requests(view: View) -> Lane | None:
    """The rate of the whole service: of its log, of its Prometheus, or of the connections that it accepted."""
    whole = first(view, "app.requests_per_s", route="*") or first(view, "app.requests_per_s")
    return whole or first(view, "app.accepts_per_s")


def _facts(view: View, dev: str, asked: Lane | None) -> tuple[tuple[Label, Figure], ...]:
    """Means over the capture, and how many writes there were to each request of the service."""
    found: list[tuple[Label, Figure]] = []
    writes = next(iter(wanted(view, _RATES[1:2], dev=dev)), None)
    written = mean_of(writes, "per_s") if writes else None
    rate = mean_of(Wanted("requests", _REQUESTS, asked), "per_s") if asked is not None else None
    if written is not None:
        found.append((Text("Writes, mean", "平均写请求"), written))
    if rate is not None:
        found.append((Text("Requests of the service, mean", "平均服务请求"), rate))
    if written is not None and rate is not None and rate.value >= LEAST_RATE:
        found.append(
            (
                _EACH,
                Figure(written.value / rate.value, "count", written.cite),
            )
        )
    return tuple(found)


def _notes(view: View, dev: str) -> tuple[Sentence, ...]:
    """Throughput that is flat while requests wait looks like a quota of whoever sells the disk."""
    waits = [mean_of(one, "ms") for one in wanted(view, _WAITS[:2], dev=dev)]
    slow = any(one is not None and one.value > _SLOW_MS for one in waits)
    lanes = [replace(lane, values=told(lane.values)) for lane in view.of("disk.read_mb_s")] if slow else []
    read = PLATEAU.read(replace(view, lanes=lanes))
    if not isinstance(read, Sequence):
        return ()
    return tuple(
        Sentence("visual.plateau", {"mb_per_s": one.detail["mb_per_s"], "variation": round(one.value, 1)})
        for one in read
        if dict(one.subject).get("dev") == dev and one.value < PLATEAU_PCT
    )


BUILDER = Builder(
    id="disk-times",
    title=_TITLE,
    says=Text(
        "Requests that take long while the queue is long wait for the disk. Where the dashed line of the service lies"
        " below that of writes, each request costs several of them. Utilisation alone says little of a disk that"
        " serves many requests at once.",
        "队列长且单次请求耗时高，说明在等磁盘。服务请求（虚线）低于写请求时，每个请求引起多次写。能并行处理请求的磁盘，利用率本身说明不了什么。",
    ),
    reads=reads(
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
    build=_build,
)  # fmt: skip

"""Load averages, once a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Text, Tier
from collectors.parse.proc import id_list, named_numbers, sampled
from collectors.parse.proc.named_numbers import MetricSource
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables import results
from collectors.parse.tables.tokens import parse_counter, parse_decimal

_PATH = "/proc/loadavg"
_ONLINE = "/sys/devices/system/cpu/online"
_MAX_BYTES = 4 << 20

_YIELDS = (
    MetricSource("load.avg1", ("avg1",), "gauge"),
    MetricSource("load.avg5", ("avg5",), "gauge"),
    MetricSource("load.avg15", ("avg15",), "gauge"),
    MetricSource("proc.tasks", ("tasks",), "gauge"),
)


def parse_loadavg(parts: Mapping[str, Part], context: Context) -> Parsed:
    """The three averages, the number of tasks, and the load for each CPU that was online at the time."""
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), _read_numbers)
    named_series = named_numbers.build_named_series(context, readings, _YIELDS)
    online = sampled.tabulate_readings(samples.of(_ONLINE), _count_online)
    if len(online.boot_ns) and len(readings.boot_ns):
        at = np.clip(np.searchsorted(online.boot_ns, readings.boot_ns, "right") - 1, 0, None)
        cpus = online.column("cpus")[at]
        per_cpu = readings.column("avg1") / np.where(cpus > 0, cpus, np.nan)
        lines = readings.line_of("avg1")
        named_series += sampled.build_series(
            context, "load.avg1_per_cpu", readings.boot_ns, per_cpu, lines=lines
        )
    return results.build_series_result(named_series, samples.warnings)


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    tokens = snapshot.body[:200].split()
    if len(tokens) < 4:
        return
    for name, token in zip(("avg1", "avg5", "avg15"), tokens, strict=False):
        yield name, parse_decimal(token), 0
    _, _, total = tokens[3].partition(b"/")
    yield "tasks", parse_counter(total), 0


def _count_online(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    yield "cpus", float(len(id_list.parse_ids(snapshot.body))), 0


COLLECTOR = Collector(
    id="loadavg",
    title=Text("Load", "负载"),
    why=Text(
        "Whether the load is rising or falling; it counts waiting for disks too.",
        "负载在上升还是下降；它也把等待磁盘计入其中。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=(_PATH,), remedy="mount -t proc proc /proc"),
            files=(_PATH, _ONLINE),
            interval_s=1.0,
        ),
    ),
    parse=parse_loadavg,
    cost=Cost(0.02, 150, Text("Two tiny files a second.", "每秒读取两个极小的文件。")),
    yields=(*(item.metric for item in _YIELDS), "load.avg1_per_cpu"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

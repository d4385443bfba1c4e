"""Packets that each CPU took from the network's backlog, and those that it had no room or time for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Series, Text, Tier
from collectors.parse.proc import id_list, sampled
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_hexadecimal

_PATH = "/proc/net/softnet_stat"
_ONLINE = "/sys/devices/system/cpu/online"
_MAX_BYTES = 32 << 20
_MAX_CPUS = 8192
_CPU_COLUMN = 12
#: Columns by place: net/core/net-procfs.c of the kernel. The file has no header and only ever grew at its end.
_COLUMNS = {
    "softnet.processed_per_s": 0,
    "softnet.dropped_per_s": 1,
    "softnet.squeezed_per_s": 2,
    "softnet.rps_per_s": 9,
}


def parse_softnet(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by CPU. Counters have 32 bits and wrap.

    Since Linux 5.10 the thirteenth column is the CPU's number; before, rows are the online CPUs in order.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    snapshots = samples.of(_PATH)
    listed = samples.of(_ONLINE)
    online = id_list.parse_ids(listed[-1].body.strip()) if listed else ()
    readings = sampled.tabulate_readings(
        snapshots, lambda snapshot: _read_numbers(snapshot, online), _MAX_CPUS * 4
    )
    cpus = sorted({int(name.partition("|")[0]) for name in readings.names})
    series: list[Series] = []
    for metric in _COLUMNS:
        names = [f"{cpu}|{metric}" for cpu in cpus]
        if len(readings.boot_ns) < 2 or not any(name in readings.names for name in names):
            continue
        counters = np.hstack([readings.column(name) for name in names])
        series += sampled.build_series(
            context,
            metric,
            readings.boot_ns[1:],
            rates.compute_rates(readings.boot_ns, counters, rates.WRAP_32),
            lines=np.array([snapshot.line for snapshot in snapshots[1:]], np.int32),
            axis="cpu",
            axis_values=tuple(str(cpu) for cpu in cpus),
        )
    return results.build_series_result(series, samples.warnings)


def _read_numbers(snapshot: Snapshot, online: Sequence[int]) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()[:_MAX_CPUS]):
        cells = [parse_hexadecimal(token) for token in line.split(None, 32)[:32]]
        cpu: float = online[offset] if offset < len(online) else offset
        if len(cells) > _CPU_COLUMN:
            cpu = cells[_CPU_COLUMN]
        if 0 <= cpu < _MAX_CPUS:
            for metric, column in _COLUMNS.items():
                if column < len(cells):
                    yield f"{int(cpu)}|{metric}", cells[column], offset


COLLECTOR = Collector(
    id="softnet",
    title=Text("Packet backlog of CPUs", "CPU 收包积压"),
    why=Text(
        "Packets dropped before any protocol processed them, because a CPU's backlog was full "
        "or its time budget was spent.",
        "因 CPU 积压队列已满或处理时间用尽，在进入协议栈之前就被丢弃的包。",
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
    parse=parse_softnet,
    cost=Cost(
        0.03,
        600,
        Text(
            "One small file per second. The cost grows with the number of CPUs.",
            "每秒读取一个小文件，随 CPU 数增长。",
        ),
    ),
    yields=tuple(_COLUMNS),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

"""Pressure stall information, once a second."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import Collector, Context, Cost, Needs, Parsed, Part, Sampled, Series, Text, Tier
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter, parse_decimal

_PATHS = re.compile(r"/proc/pressure/(cpu|memory|io|irq)")
_MAX_BYTES = 8 << 20
_MAX_AVERAGE_PCT = 100.0


def parse_psi(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Share of each interval in which tasks waited, from the kernel's totals, and the kernel's own averages.

    `cpu full` exists since 5.13 and means nothing for the whole host, `irq` since 6.1.
    Format: Documentation/accounting/psi.rst of the kernel.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    series: list[Series] = []
    for match, snapshots in samples.matching(_PATHS):
        readings = sampled.tabulate_readings(snapshots, _read_numbers)
        labels = {"resource": match[1]}
        for kind in ("some", "full"):
            lines = readings.line_of(f"{kind}.total")
            stalled_us = rates.compute_rates(readings.boot_ns, readings.column(f"{kind}.total"))
            series += sampled.build_series(
                context,
                f"psi.{kind}_pct",
                readings.boot_ns[1:],
                np.fmin(stalled_us / 1e4, 100.0) + 0.0 * stalled_us,
                lines=lines[1:],
                labels=labels,
            )
            average = readings.column(f"{kind}.avg10")
            series += sampled.build_series(
                context, f"psi.{kind}_avg10_pct", readings.boot_ns, average, lines=lines, labels=labels
            )
    return results.build_series_result(series, samples.warnings)


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()[:8]):
        tokens = line.split(None, 8)
        kind = tokens[0] if tokens else b""
        if kind not in {b"some", b"full"}:
            continue
        for pair in tokens[1:]:
            name, _, value = pair.partition(b"=")
            if name == b"total":
                yield f"{kind.decode('ascii')}.total", parse_counter(value), offset
            elif name == b"avg10" and 0 <= parse_decimal(value) <= _MAX_AVERAGE_PCT:
                yield f"{kind.decode('ascii')}.avg10", parse_decimal(value), offset


COLLECTOR = Collector(
    id="psi",
    title=Text("Pressure", "压力（PSI）"),
    why=Text(
        "How much of the time work waited for CPU, memory or disks.",
        "工作有多少时间在等待 CPU、内存或磁盘。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=("/proc/pressure/cpu",), remedy="boot with psi=1 (kernel 4.20 or later)"),
            files=("/proc/pressure/*",),
            interval_s=1.0,
        ),
    ),
    parse=parse_psi,
    cost=Cost(0.03, 600, Text("Three or four tiny files a second.", "每秒读取三四个极小的文件。")),
    yields=("psi.some_pct", "psi.full_pct", "psi.some_avg10_pct", "psi.full_avg10_pct"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

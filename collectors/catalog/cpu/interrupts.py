"""Which interrupt went to which CPU, over the whole run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Sentence,
    Table,
    Text,
    Tier,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.cpu_columns import parse_cpu_grid
from collectors.parse.tables import rates

_PATH = "/proc/interrupts"
_MAX_BYTES = 64 << 20
_MAX_ROWS = 200


def parse_interrupts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """A table of the busiest interrupts: rate, the CPU that took most, its share, and the device.

    Per-CPU counts are 32 bits wide and may wrap. Lines without a column for each CPU (ERR, MIS) are left out.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    snapshots = samples.of(_PATH)
    if len(snapshots) < 2:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    first, last = parse_cpu_grid(snapshots[0]), parse_cpu_grid(snapshots[-1])
    elapsed_s = (snapshots[-1].boot_ns - snapshots[0].boot_ns) / 1e9
    before = {row.name: dict(zip(first.cpus, row.values, strict=False)) for row in first.rows}
    rows: list[tuple[str | int | float | None, ...]] = []
    for row in last.rows if elapsed_s > 0 else ():
        if len(row.values) != len(last.cpus) or row.name not in before:
            continue
        counts = np.array([[before[row.name].get(cpu, np.nan) for cpu in last.cpus], row.values])
        changed = rates.compute_deltas(counts, rates.WRAP_32)[0]
        changed = np.where(np.isfinite(changed), changed, 0.0)
        total = float(changed.sum())
        if total > 0:
            peak = int(changed.argmax())
            share = 100.0 * float(changed[peak]) / total
            rows.append((row.name, row.rest, total / elapsed_s, last.cpus[peak], share))
    rows.sort(key=lambda cells: -float(cells[2] or 0))
    table = Table("interrupts", _COLUMNS, tuple(rows[:_MAX_ROWS]), sampled.PART)
    return Parsed(tables=(table,), warnings=samples.warnings, readable=bool(last.rows))


_COLUMNS = (
    Column("irq"),
    Column("source"),
    Column("rate", "per_s"),
    Column("top_cpu"),
    Column("top_cpu_share", "pct"),
)

COLLECTOR = Collector(
    id="interrupts",
    title=Text("Interrupts", "中断"),
    why=Text(
        "Whether a network card or disk interrupts only one CPU.",
        "网卡或磁盘是否只中断某一个 CPU。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled("proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), once=True),
    ),
    parse=parse_interrupts,
    cost=Cost(0.01, 500, Text("Read twice, at the start and the end.", "仅在开始与结束时各读一次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

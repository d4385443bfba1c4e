"""The processes of a host that use most of each resource, for an answer that names no cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from culprit.domain.rules.view import HostView

ResourceName = Literal["cpu", "memory", "disk_read", "disk_write"]
#: Per resource: the table and column with the amount, its unit, and the factor from the column to the unit.
_COLUMNS: tuple[tuple[ResourceName, str, str, str, float], ...] = (
    ("cpu", "processes", "cpu", "pct", 1.0),
    ("memory", "processes", "rss", "bytes", 1024.0),
    ("disk_read", "proc_io", "read_bytes_per_s", "bytes_per_s", 1.0),
    ("disk_write", "proc_io", "write_bytes_per_s", "bytes_per_s", 1.0),
)
MAX_PER_RESOURCE = 5


@dataclass(frozen=True, slots=True)
class Consumer:
    """One process: the resource, the amount with its unit (CPU in percent of one CPU), and its share of what all
    listed processes use, 0 to 1."""

    resource: ResourceName
    pid: int
    name: str
    amount: float
    unit: str
    share: float


def list_consumers(view: HostView) -> Sequence[Consumer]:
    """Return the largest consumers of each resource, the largest first. A resource that nothing uses is omitted."""
    consumers: list[Consumer] = []
    for resource, table, column, unit, factor in _COLUMNS:
        used = [
            (factor * amount, row)
            for row in view.rows(table)
            if (amount := row.number(column)) is not None and amount > 0 and row.number("pid")
        ]
        total = sum(amount for amount, _ in used)
        used.sort(key=lambda pair: -pair[0])
        consumers += [
            Consumer(resource, int(row.number("pid") or 0), row.text("comm"), amount, unit, amount / total)
            for amount, row in used[:MAX_PER_RESOURCE]
        ]
    return consumers

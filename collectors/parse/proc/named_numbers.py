"""Files of named numbers (/proc/vmstat, /proc/meminfo, /proc/net/snmp, ...) and the series made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Context, Series, Values
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates
from collectors.parse.tables.tokens import parse_counter, parse_decimal

_MAX_NAME = 96
_MAX_LINES = 5_000


@dataclass(frozen=True, slots=True)
class MetricSource:
    """One metric out of named numbers: the sum of `names`, as a rate, as a difference, or as it is."""

    metric: str
    names: tuple[str, ...]
    how: Literal["rate", "delta", "gauge"] = "rate"
    scale: float = 1.0


def read_pairs(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """`name value` or `Name:   value kB` on each line, as in /proc/vmstat and /proc/meminfo."""
    for offset, line in enumerate(snapshot.lines()[:_MAX_LINES]):
        tokens = line.split(None, 3)
        if len(tokens) >= 2 and len(tokens[0]) <= _MAX_NAME and tokens[0].isascii():
            yield tokens[0].rstrip(b":").decode("ascii"), parse_counter(tokens[1]), offset


def read_header_and_values(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """Two lines a group, `Tcp: names...` then `Tcp: values...`: named `Tcp.ActiveOpens` and so on.

    Kernels add counters and never reorder by promise, so names decide, not positions.
    """
    names: list[bytes] = []
    for offset, line in enumerate(snapshot.lines()[:_MAX_LINES]):
        tokens = line.split()
        if not tokens or not tokens[0].endswith(b":") or len(tokens) > 2_000:
            names = []
        elif names and names[0] == tokens[0] and len(names) == len(tokens):
            group = tokens[0].decode("ascii")[:-1]
            for name, token in zip(names[1:], tokens[1:], strict=True):
                yield f"{group}.{name.decode('ascii')}", parse_decimal(token), offset
            names = []
        else:
            names = tokens if all(token.isascii() and len(token) <= _MAX_NAME for token in tokens) else []


def build_named_series(
    context: Context, readings: Readings, metric_sources: Sequence[MetricSource]
) -> list[Series]:
    """The series that these readings give; a metric whose numbers the file lacks gives none.

    A sum is made of rates, not of counters, so that one part that was reset does not spoil the others' past.
    """
    series: list[Series] = []
    for metric_source in metric_sources:
        names = [name for name in metric_source.names if name in readings.names]
        if not names:
            continue
        lines = readings.line_of(names[0])
        if metric_source.how == "gauge":
            values = readings.summed(names) * metric_source.scale
            series += sampled.build_series(
                context, metric_source.metric, readings.boot_ns, values, lines=lines
            )
            continue
        changed = _sum_of_deltas(readings, names) * metric_source.scale
        if metric_source.how == "rate":
            changed = changed / rates.compute_elapsed_s(readings.boot_ns)[:, None]
        series += sampled.build_series(
            context, metric_source.metric, readings.boot_ns[1:], changed, lines=lines[1:]
        )
    return series


def _sum_of_deltas(readings: Readings, names: Sequence[str]) -> Values:
    """[n - 1, 1]; NaN wherever one of the counters has no difference."""
    total = rates.compute_deltas(readings.column(names[0]))
    for name in names[1:]:
        total = total + rates.compute_deltas(readings.column(name))
    return total

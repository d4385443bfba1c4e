"""`perf stat -x ';'`: one line for each event, and with `-I` again for each interval.

The number of fields differs by version and by option (time, thread, unit, metric), so the field that holds the
event's name is found by the name itself. Source: tools/perf/Documentation/perf-stat.txt of Linux, "CSV FORMAT".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import isnan

from collectors.contract import Column, Table
from collectors.parse.tables.tokens import NAN, parse_amount, parse_decimal, to_text

_MAX_LINES = 200_000
_NOT_SUPPORTED = b"<not supported>"
_COLUMNS = (
    Column("event"),
    Column("count"),
    Column("per_s", "per_s"),
    Column("unit"),
    Column("running_pct", "pct"),
    Column("supported"),
)


@dataclass(frozen=True, slots=True)
class EventCount:
    """One event in one interval. `value` is NaN where it was not counted; `before` are the fields in front.

    `time_s` is since the start, NaN without `-I`. `running_pct` below 100 means that the value is scaled up.
    """

    line: int
    event: str
    value: float
    unit: str
    time_s: float
    running_pct: float
    supported: bool
    before: tuple[str, ...] = ()


def parse_event_counts(text: bytes, events: Collection[str]) -> Iterator[EventCount]:
    """The lines that count one of `events`, with or without a modifier (`:u`). Other lines are passed over."""
    requested_events = frozenset(events)
    for number, line in enumerate(text.split(b"\n")[:_MAX_LINES], 1):
        fields = [field.strip() for field in line[:2000].split(b";")]
        at = _find_columns(fields, requested_events)
        if at is None:
            continue
        value_at = at - 2 if at >= 2 and not _is_value(fields[at - 1]) else at - 1
        value, tail = fields[value_at], fields[at + 1 :]
        yield EventCount(
            line=number,
            event=to_text(fields[at], 120),
            value=parse_amount(value),
            unit=to_text(fields[at - 1], 20) if value_at == at - 2 else "",
            time_s=parse_decimal(fields[0]) if value_at >= 1 else NAN,
            running_pct=parse_amount(tail[1]) if len(tail) > 1 else NAN,
            supported=value != _NOT_SUPPORTED,
            before=tuple(to_text(field, 120) for field in fields[:value_at]),
        )


def _find_columns(fields: list[bytes], requested: frozenset[str]) -> int | None:
    """Return the position of the name of the event: after the value and an optional unit."""
    for at in range(1, min(len(fields), 6)):
        name = fields[at].decode("utf-8", "replace")
        known = name in requested or name.partition(":")[0] in requested
        if known and (_is_value(fields[at - 1]) or (at >= 2 and _is_value(fields[at - 2]))):
            return at
    return None


def _is_value(field: bytes) -> bool:
    return field.startswith(b"<not ") or (not isnan(parse_amount(field)) and bool(field))


def sum_counts(counts: Collection[EventCount], seconds: float, kind: str, part: str) -> Table | None:
    """One row for each event in order of appearance: its sum over all intervals; None where there is none."""
    by_event: dict[str, list[EventCount]] = {}
    for count in counts:
        by_event.setdefault(count.event, []).append(count)
    rows: list[tuple[str | int | float | None, ...]] = []
    for event, result in list(by_event.items())[:200]:
        known = [item.value for item in result if not isnan(item.value)]
        running = [item.running_pct for item in result if not isnan(item.running_pct)]
        total = sum(known) if known else None
        rate = total / seconds if total is not None and seconds > 0 else None
        share = min(running) if running else None
        rows.append((event, total, rate, result[0].unit, share, int(result[0].supported)))
    lines = tuple(result[-1].line for result in list(by_event.values())[:200])
    return Table(kind, _COLUMNS, tuple(rows), part, lines) if rows else None

"""Counters that a script reads at the start and at the end of a capture, as lines `counter when= name= value=`."""

from __future__ import annotations

import math

from collectors.contract import Column, Context, Table
from collectors.parse.tables.field_lines import FieldLine

#: A value at the end, and what it grew by in a second.
COUNTER_COLUMNS = (Column("name"), Column("value"), Column("change", "per_s"), Column("grown"))
MAX_COUNTERS = 200


def list_counters(
    kind: str,
    lines: list[FieldLine],
    spans: list[FieldLine],
    context: Context,
) -> tuple[Table, ...]:
    """Return one table of counters, as a tuple of one; none where no counter was read at the end.

    A counter that fell was reset in between, so what it grew by is not known.
    """
    seconds = spans[0].value("seconds") if spans else context.seconds
    first = {line.text("name", 60): line.value("value") for line in lines if line.text("when") == "start"}
    last = [line for line in lines if line.text("when") == "end"][:MAX_COUNTERS]
    rows = []
    for line in last:
        name, value = line.text("name", 60), line.value("value")
        grown = value - first.get(name, math.nan)
        known = math.isfinite(grown) and grown >= 0
        per_s = grown / seconds if known and seconds > 0 else None
        rows.append((name, value if math.isfinite(value) else None, per_s, grown if known else None))
    return (
        (Table(kind, COUNTER_COLUMNS, tuple(rows), lines=tuple(line.number for line in last)),)
        if rows
        else ()
    )

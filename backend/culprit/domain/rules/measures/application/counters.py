"""Numbers from the counters that a server keeps about itself, and which servers run on a host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from collectors.contract import Text
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.derived import Detail, Needs
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: Tables of the first look that name programs.
PROGRAM_TABLES = ("processes", "listeners", "tcp_waits", "thread_groups")
PROGRAM_NEEDS = (("proc_top", "ss_listen", "tcp_waits", "proc_threads"),)


def build_listed_measure(  # noqa: PLR0917 - a table of measures reads better by position
    name: str, unit: str, en: str, zh: str, needs: Needs, read: Callable[[HostView], Iterable[Measurement]]
) -> Measure:
    """Return a measure of all that `read` yields, with its title in both languages."""
    return Measure(name, unit, Text(en, zh), needs, lambda view: list(read(view)))


def index_counters(view: HostView, table: str) -> Mapping[str, TableRow]:
    """Return the rows of a table of counters by name."""
    return {row.text("name"): row for row in view.rows(table)}


def read_ratio(table: str, over: Sequence[str], under: str) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of what counters, of those that the server has, grew by for each step of another."""

    def read(view: HostView) -> Iterator[Measurement]:
        rows = index_counters(view, table)
        above = {rows[name].citation: rows[name].number("grown") for name in over if name in rows}
        known = [value for value in above.values() if value is not None]
        below = rows.get(under)
        by = below.number("grown") if below is not None else None
        if below is not None and by is not None and known:
            yield Measurement(sum(known) / max(by, 1.0), (), (*above, below.citation), round(by))

    return read


def read_counter(table: str, name: str, column: str = "grown") -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of one column of one counter."""

    def read(view: HostView) -> Iterator[Measurement]:
        row = index_counters(view, table).get(name)
        value = row.number(column) if row is not None else None
        if row is not None and value is not None:
            yield Measurement(value, (), (row.citation,), round(abs(value)))

    return read


def read_longest(
    table: str, column: str, name: str, where: Callable[[TableRow], bool] = lambda row: True
) -> Callable[[HostView], Iterator[Measurement]]:
    """Return a reader of the largest value of a column; `{name}` and `{count}` fill the sentence."""

    def read(view: HostView) -> Iterator[Measurement]:
        rows = [row for row in view.rows(table) if where(row) and row.number(column) is not None]
        if rows:
            row = max(rows, key=lambda item: item.number(column) or 0.0)
            cites = (row.citation, *(item.citation for item in rows if item is not row))
            detail: Detail = {"name": row.text(name), "count": len(rows)}
            yield Measurement(row.number(column) or 0.0, (), cites, len(rows), (), detail)

    return read


def build_presence(name: str, title: Text, pattern: str) -> Measure:
    """Return the measure of how many programs on the host have a name that matches."""
    expected = re.compile(pattern)

    def read(view: HostView) -> list[Measurement]:
        seen: dict[str, Citation] = {}
        for table in PROGRAM_TABLES:
            for row in view.rows(table):
                comm = row.text("comm") or row.text("process")
                if expected.fullmatch(comm):
                    seen.setdefault(comm, row.citation)
        detail: Detail = {"name": ", ".join(seen)}
        return [Measurement(float(len(seen)), (), tuple(seen.values()), len(seen), (), detail)]

    return Measure(name, "count", title, PROGRAM_NEEDS, read)

"""The tables of what threads do, from recordings of earlier versions, which counted samples of each thread."""

from __future__ import annotations

from collectors.contract import Table
from collectors.parse.proc import id_list
from collectors.parse.proc.thread_tables import GROUP_COLUMNS, THREAD_COLUMNS, Cells
from collectors.parse.tables.tagged_tables import TaggedRow, TaggedTables


def has_thread_counts(tables: TaggedTables) -> bool:
    """Return whether the recording has counts instead of times."""
    return any("ticks" in row.values for row in tables.of("time"))


def build_counted_tables(tables: TaggedTables, seconds: float, ticks: float) -> tuple[Table, Table]:
    """Return `threads` and `thread_groups`."""
    threads, groups = tables.of("thread"), tables.of("group")
    return (
        Table(
            "threads",
            THREAD_COLUMNS,
            tuple(_parse_thread(row, seconds) for row in threads),
            lines=tuple(row.line for row in threads),
        ),
        Table(
            "thread_groups",
            GROUP_COLUMNS,
            tuple(_build_group(row, seconds, ticks) for row in groups),
            lines=tuple(row.line for row in groups),
        ),
    )


def _parse_thread(row: TaggedRow, seconds: float) -> Cells:
    samples = row.number("samples") or 0.0

    def share(name: str) -> float | None:
        value = row.number(name)
        return 100.0 * value / samples if value is not None and samples else None

    run = row.number("run_ns")
    voluntary, involuntary = row.number("voluntary"), row.number("involuntary")
    cpus = row.raw("cpus")
    return (
        *(row.whole("pid"), row.whole("tid"), row.text("comm", 64), row.whole("samples")),
        *(share("r"), share("s"), share("d")),
        row.text("wchan", 100) or None,
        share("wchan_n"),
        run / 1e7 / seconds if run is not None else None,
        _compute_delay_ms(row),
        *(value / seconds if value is not None else None for value in (voluntary, involuntary)),
        row.text("cpus", 100) or None,
        len(set(id_list.parse_ids(cpus))) or None,
        None,
    )


def _build_group(row: TaggedRow, seconds: float, ticks: float) -> Cells:
    runnable, blocked, run, wait = (row.number(name) for name in ("r", "d", "run_ns", "wait_ns"))
    return (
        *(
            row.whole("pid"),
            row.text("comm", 64) or None,
            row.text("cgroup", 1000) or None,
            row.whole("threads"),
        ),
        *(value / ticks if value is not None else None for value in (runnable, blocked)),
        run / 1e7 / seconds if run is not None else None,
        wait / 1e9 if wait is not None else None,
        row.number("switches"),
        _compute_delay_ms(row),
        int(ticks),
        seconds,
    )


def _compute_delay_ms(row: TaggedRow) -> float | None:
    wait, switches = row.number("wait_ns"), row.number("switches")
    return wait / 1e6 / switches if wait is not None and switches else None

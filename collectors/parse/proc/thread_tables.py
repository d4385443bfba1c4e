"""The tables of what threads do, from what the program on the host has added up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Column, Table
from collectors.parse.proc import id_list
from collectors.parse.proc.system_calls import name_call
from collectors.parse.proc.thread_activity import Activity, Wait, classify_wait
from collectors.parse.tables.tagged_tables import TaggedRow, TaggedTables
from collectors.parse.tables.tokens import parse_decimal

Cells = tuple[str | int | float | None, ...]

THREAD_COLUMNS = (
    *(Column("pid"), Column("tid"), Column("comm"), Column("samples")),
    *(Column("running_pct", "pct"), Column("sleeping_pct", "pct"), Column("blocked_pct", "pct")),
    *(
        Column("wchan"),
        Column("wchan_pct", "pct"),
        Column("cpu_pct", "pct"),
        Column("delay_ms_per_switch", "ms"),
    ),
    *(Column("voluntary_per_s", "per_s"), Column("involuntary_per_s", "per_s")),
    *(Column("cpus_allowed"), Column("cpus_allowed_count"), Column("awake_ms", "ms")),
)
GROUP_COLUMNS = (
    *(Column("pid"), Column("comm"), Column("cgroup"), Column("threads")),
    *(Column("mean_runnable"), Column("mean_blocked"), Column("cpu_pct", "pct"), Column("wait_s")),
    *(Column("switches"), Column("delay_ms_per_switch", "ms"), Column("samples"), Column("seconds")),
)
WCHAN_COLUMNS = (Column("wchan"), Column("tasks"), Column("seen"), Column("scans"), Column("comm"))
PROCESS_COLUMNS = (
    *(
        Column("pid"),
        Column("ppid"),
        Column("comm"),
        Column("cgroup"),
        Column("uid"),
        Column("threads"),
        Column("samples"),
    ),
    *(Column("wall_ms", "ms"), Column("run_ms", "ms"), Column("wait_ms", "ms")),
)
TIME_COLUMNS = (
    *(
        Column("pid"),
        Column("comm"),
        Column("activity"),
        Column("target"),
        Column("detail"),
        Column("device"),
    ),
    *(Column("samples"), Column("threads"), Column("time_ms", "ms"), Column("exact_ms", "ms")),
    *(Column("error_ms", "ms"), Column("longest_ms", "ms")),
)
_HOTSPOT_THREAD = b"VM Thread"


@dataclass(slots=True)
class _Share:
    """What was added up for one activity of a process: exact and sampled time, and the row with most of it."""

    line: int = 0
    detail: str = ""
    device: str = ""
    most: float = -1.0
    exact: float = 0.0
    part: float = 0.0
    threads: int = 0
    longest: float = 0.0

    def add(self, row: TaggedRow, activity: Activity) -> None:
        """Add one row of the host."""
        held, part = row.number("held_ms") or 0.0, row.number("part_ms") or 0.0
        if held + part > self.most:
            self.most, self.line, self.detail, self.device = (
                held + part,
                row.line,
                activity.detail,
                activity.device,
            )
        self.exact += held
        self.part += part
        self.threads = max(self.threads, row.whole("threads") or 0)
        self.longest = max(self.longest, row.number("longest_ms") or 0.0)


@dataclass(frozen=True, slots=True)
class _Process:
    """The exact times of one process, in ms. What is neither on a CPU nor in the queue for one is `waiting`."""

    row: TaggedRow
    wall: float
    run: float
    wait: float

    @classmethod
    def of(cls, row: TaggedRow) -> _Process:
        """Read the row of a process. A thread can have waited for a CPU since before the first sample."""
        run, wait = _non_negative(row.number("run_ms")), _non_negative(row.number("wait_ms"))
        late = parse_decimal(row.raw("late_ms"))
        wall = _non_negative(row.number("wall_ms"))
        wait = max(0.0, wait + (late if math.isfinite(late) else 0.0))
        return cls(row, max(wall, run), run, min(wait, max(0.0, wall - run)))

    @property
    def waiting(self) -> float:
        """Return the time in which its threads waited for something else than a CPU."""
        return max(0.0, self.wall - self.run - self.wait)


def build_process_times(tables: TaggedTables, machine: str, seconds: float) -> tuple[Table, Table]:
    """Return `process_time`, and `thread_time`, whose rows of one process add up to its `wall_ms`.

    `exact_ms` is the part of `time_ms` in which the thread did not run in between, so that nothing is estimated. The
    rest is divided by what was sampled; `error_ms` is half of its 95 % interval (Agresti and Coull 1998). `samples` are
    in proportion to `time_ms`: exact time counts as if it had been read as often as the rest, else in every walk.
    """
    jvms = {row.raw("pid") for row in tables.of("thread") if row.raw("comm") == _HOTSPOT_THREAD}
    shares: dict[bytes, dict[tuple[str, str], _Share]] = defaultdict(lambda: defaultdict(_Share))
    for row in tables.of("activity"):
        pid = row.raw("pid")
        activity = classify_wait(_read_wait(row, machine), hotspot=pid in jvms)
        shares[pid][activity.kind, activity.target].add(row, activity)
    walks = next((row.number("walks") for row in tables.of("time")), None) or 0.0
    processes = [_Process.of(row) for row in tables.of("process")]
    times: list[tuple[Cells, int]] = []
    for process in processes:
        times += _divide(process, shares.get(process.row.raw("pid"), {}), walks / 1000.0 / seconds)
    summary = Table(
        "process_time",
        PROCESS_COLUMNS,
        tuple(_summarize(process, seconds) for process in processes),
        lines=tuple(process.row.line for process in processes),
    )
    return summary, Table(
        "thread_time",
        TIME_COLUMNS,
        tuple(cells for cells, _ in times),
        lines=tuple(line for _, line in times),
    )


def _read_wait(row: TaggedRow, machine: str) -> Wait:
    call = name_call(machine, row.whole("call"))
    args = (row.text("a0", 40), row.text("a1", 40), row.text("a2", 40))
    return Wait(row.text("state", 2), call, args, row.text("wchan", 100), row.text("target", 400))


def _summarize(process: _Process, seconds: float) -> Cells:
    row = process.row
    return (
        *(
            row.whole("pid"),
            row.whole("ppid"),
            row.text("comm", 64) or None,
            row.text("cgroup", 1000) or None,
            row.whole("uid"),
        ),
        process.wall / 1000.0 / seconds,
        row.whole("samples"),
        *(process.wall, process.run, process.wait),
    )


def _divide(
    process: _Process, shares: Mapping[tuple[str, str], _Share], walks_per_ms: float
) -> Iterator[tuple[Cells, int]]:
    """Divide the waiting time of a process: first what is exact, then the rest in proportion to what was sampled."""
    row = process.row
    samples, threads = row.whole("samples") or 0, row.whole("threads") or 0
    exact = sum(share.exact for share in shares.values())
    sampled = sum(share.part for share in shares.values())
    scale = min(1.0, process.waiting / exact) if exact else 1.0
    rest = max(0.0, process.waiting - exact * scale)
    per_ms = samples / rest if samples and rest else walks_per_ms
    for kind, value in (("running", process.run), ("runnable", process.wait)):
        if value > 0:
            share = _Share(line=row.line, threads=threads)
            yield _build_row(row, (kind, ""), share, (value, value, 0.0), samples), row.line
    for place, share in shares.items():
        part = share.part / sampled if sampled else 0.0
        value = share.exact * scale + rest * part
        error = _estimate_error(part, samples, rest) if part else 0.0
        times = (value, share.exact * scale, error)
        if value > 0:
            yield _build_row(row, place, share, times, max(1, round(value * per_ms))), share.line
    if rest > 0 and not sampled:
        share = _Share(line=row.line, threads=threads)
        yield _build_row(row, ("unknown", ""), share, (rest, 0.0, rest), 1), row.line


def _estimate_error(part: float, samples: int, rest: float) -> float:
    """Half of the 95 % interval of a part of `rest` that was estimated from so many samples."""
    if not samples or not rest:
        return 0.0
    n = samples + 4.0
    p = (part * samples + 2.0) / n
    return 2.0 * rest * math.sqrt(p * (1.0 - p) / n)


def _build_row(
    row: TaggedRow, place: tuple[str, str], share: _Share, times: tuple[float, float, float], samples: int
) -> Cells:
    pid, comm = row.whole("pid"), row.text("comm", 64) or None
    names = (*place, share.detail, share.device)
    return (pid, comm, *(name or None for name in names), samples, share.threads, *times, share.longest)


def build_thread_table(rows: Sequence[TaggedRow], seconds: float) -> Table:
    """Return `threads`. Shares are of the time in which a thread was observed; it was read `samples` times.

    `awake_ms` is the longest time for which it certainly did not sleep: it ran or waited for a CPU.
    """
    cells = tuple(_build_thread(row, seconds) for row in rows)
    return Table("threads", THREAD_COLUMNS, cells, lines=tuple(row.line for row in rows))


def _build_thread(row: TaggedRow, seconds: float) -> Cells:
    life, run, wait, blocked = (
        _non_negative(row.number(f"{name}_ms")) for name in ("life", "run", "wait", "blocked")
    )
    running = min(life, run + wait)
    blocked = min(blocked, life - running)

    def share(value: float) -> float | None:
        return 100.0 * min(1.0, value / life) if life else None

    context = row.number("context_ms")
    rates = (row.number(name) for name in ("voluntary", "involuntary"))
    cpus = row.raw("cpus")
    wchan = row.text("wchan", 100) or None
    return (
        *(row.whole("pid"), row.whole("tid"), row.text("comm", 64), row.whole("samples")),
        *(share(running), share(life - running - blocked), share(blocked)),
        wchan,
        share(row.number("wchan_ms") or 0.0) if wchan else None,
        run / 10.0 / seconds,
        _compute_delay_ms(row),
        *(1000.0 * rate / context if rate is not None and context else None for rate in rates),
        row.text("cpus", 100) or None,
        len(set(id_list.parse_ids(cpus))) or None,
        row.number("awake_ms"),
    )


def build_group_table(tables: TaggedTables, seconds: float) -> Table:
    """Return `thread_groups`: the target, or the processes with most CPU time and those with blocked threads."""
    rows = [row for row in tables.of("process") if row.whole("listed")]
    cells = tuple(_build_group(row, seconds) for row in rows)
    return Table("thread_groups", GROUP_COLUMNS, cells, lines=tuple(row.line for row in rows))


def _build_group(row: TaggedRow, seconds: float) -> Cells:
    process = _Process.of(row)
    blocked = min(_non_negative(row.number("blocked_ms")), process.waiting)
    return (
        *(
            row.whole("pid"),
            row.text("comm", 64) or None,
            row.text("cgroup", 1000) or None,
            row.whole("threads"),
        ),
        *((process.run + process.wait) / 1000.0 / seconds, blocked / 1000.0 / seconds),
        process.run / 10.0 / seconds,
        process.wait / 1000.0,
        row.number("switches"),
        _compute_delay_ms(row),
        row.whole("samples"),
        seconds,
    )


def build_wchan_table(rows: Sequence[TaggedRow], scans: int | None) -> Table:
    """Return `wchans`: where tasks of the host were in uninterruptible sleep, at the start and the end."""
    return Table(
        "wchans",
        WCHAN_COLUMNS,
        tuple(_build_wchan(row, scans) for row in rows),
        lines=tuple(row.line for row in rows),
    )


def _build_wchan(row: TaggedRow, scans: int | None) -> Cells:
    name = row.text("wchan", 100)
    return (None if name == "0" else name, row.whole("tasks"), row.whole("seen"), scans, row.text("comm", 64))


def _compute_delay_ms(row: TaggedRow) -> float | None:
    wait, switches = row.number("wait_ms"), row.number("switches")
    return wait / switches if wait is not None and switches else None


def _non_negative(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) and value > 0 else 0.0

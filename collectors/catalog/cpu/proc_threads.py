"""What threads do: running, ready, or waiting, for what and for whom."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import thread_counts, thread_tables
from collectors.parse.tables import tagged_tables
from collectors.parse.tables.tagged_tables import TaggedTables
from collectors.shell.threads import build_thread_script

_MAX_BYTES = 4 << 20


def parse_proc_threads(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Where the time of threads goes, and where in the kernel they wait.

    Tables: `process_time` and `thread_time` divide the time of all threads of a process, `threads` and
    `thread_groups` list the busiest, and `wchans` the tasks of the host in uninterruptible sleep. Time on a CPU and
    in the queue for one is exact; waiting is exact while a thread has not run, else sampled. wchan and system calls
    need root; wchan is 0 where the kernel hides its symbols, and then it is None here.
    """
    tables = tagged_tables.read_tagged_tables(parts, _MAX_BYTES)
    times = tables.of("time")
    seconds = next((row.number("seconds") for row in times), None)
    samples = next((row.number("walks") or row.number("ticks") for row in times), None)
    if not seconds or not samples:
        return Parsed(warnings=(*tables.warnings, Sentence("warning.too_few_samples")), readable=False)
    scans = next((row.whole("scans") for row in times), None)
    built: tuple[Table, ...]
    if thread_counts.has_thread_counts(tables):
        built = thread_counts.build_counted_tables(tables, seconds, samples)
    else:
        built = _build_timed_tables(tables, seconds)
    built = (*built, thread_tables.build_wchan_table(tables.of("wchan"), scans))
    return Parsed(
        tables=tuple(table for table in built if table.rows),
        facts={"seconds": seconds, "ticks": samples},
        warnings=tables.warnings,
    )


def _build_timed_tables(tables: TaggedTables, seconds: float) -> tuple[Table, ...]:
    machine = next((row.text("machine", 40) for row in tables.of("time")), "")
    return (
        thread_tables.build_thread_table(tables.of("thread"), seconds),
        thread_tables.build_group_table(tables, seconds),
        *thread_tables.build_process_times(tables, machine, seconds),
    )


COLLECTOR = Collector(
    id="proc_threads",
    title=Text("Threads", "线程"),
    why=Text(
        "Where the time of each process goes: on a CPU, in the queue for one, or waiting for disks, locks or services.",
        "每个进程的时间花在哪里：占用 CPU、等待 CPU，或等待磁盘、锁与其他服务。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk", "grep", "sort", "ls", "xargs"),
                files=("/proc/self/schedstat",),
                remedy="root for system calls and wchan; grep, coreutils",
            ),
            sh=build_thread_script(),
            command_line="awk: read /proc/PID/task/*/(schedstat,stat,syscall,wchan) of threads that have run, "
            "10 times a second for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_proc_threads,
    cost=Cost(
        1.5,
        4_000,
        Text(
            "0.7 % of a CPU for reading threads that have run; each thread once at the start and the end.",
            "读取运行过的线程，占一个 CPU 的 0.7%；每个线程在开始和结束时各读一次。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset({TargetAccess.COUNTERS}),
)

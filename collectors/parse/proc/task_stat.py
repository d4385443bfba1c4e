"""`/proc/PID/stat`: one line whose second field may hold anything, spaces and parentheses included."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.parse.tables.tokens import parse_whole, to_text

#: include/linux/sched.h: the task is a thread of the kernel.
PF_KTHREAD = 0x0020_0000
#: `ppid` (field 4) to `rss` (field 24); field 25, a limit, is often 2^64 - 1.
_NUMBERS = 21


@dataclass(frozen=True, slots=True)
class TaskStat:
    """What is wanted of the line. Times in jiffies, `started` since boot, `rss_pages` in pages.

    `children_time` is the CPU time of children that have ended and that it has waited for, and of their children.
    `io_delay` is time spent waiting for block I/O: always 0 where delay accounting is off.
    """

    pid: int
    comm: str
    state: str
    ppid: int
    flags: int
    majflt: int
    utime: int
    stime: int
    children_time: int
    nice: int
    threads: int
    started: int
    rss_pages: int
    processor: int | None
    policy: int | None
    io_delay: int | None

    @property
    def total_time(self) -> int:
        """CPU time of the task and of its children that have ended."""
        return self.utime + self.stime + self.children_time

    @property
    def kernel_thread(self) -> bool:
        """Whether the task belongs to the kernel."""
        return bool(self.flags & PF_KTHREAD)


def parse_task_stat(line: bytes) -> TaskStat | None:
    """The fields by the last `)` of the line; None where it is not such a line. See proc(5)."""
    head, paren, tail = line[:4096].rpartition(b")")
    pid_text, _, comm = head.partition(b" (")
    fields = tail.split()
    pid = parse_whole(pid_text.strip())
    if not paren or pid is None or len(fields) <= _NUMBERS or len(fields[0]) != 1:
        return None
    numbers = [parse_whole(token.removeprefix(b"-")) for token in fields[1:]]
    if any(number is None for number in numbers[:_NUMBERS]):
        return None

    def at(field: int) -> int:
        """Field by its number in proc(5), where `ppid` is 4."""
        return numbers[field - 4] or 0

    nice = -at(19) if fields[16].startswith(b"-") else at(19)
    return TaskStat(
        pid=pid,
        comm=to_text(comm, 64),
        state=to_text(fields[0], 1),
        ppid=at(4),
        flags=at(9),
        majflt=at(12),
        utime=at(14),
        stime=at(15),
        children_time=at(16) + at(17),
        nice=nice,
        threads=at(20),
        started=at(22),
        rss_pages=at(24),
        processor=at(39) if len(fields) > 36 else None,
        policy=at(41) if len(fields) > 38 else None,
        io_delay=at(42) if len(fields) > 39 else None,
    )

"""Compute the states of threads from a scheduler trace: every switch and wakeup, with the kernel stack of each switch.

perf records only `sched_switch` and `sched_wakeup`, filtered to the threads of one process, so that the trace is cheap.
A thread runs from the switch to it until the switch away; it is runnable from its wakeup, or from a switch away in
state R, until it runs; else it waits for the target that the frames of the switch away indicate.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

RUNNING, RUNNABLE = "running", "runnable"
#: Frames of the kernel by what they wait for; the first match in the order of this list decides.
_FRAMES = (
    (r"futex_", "futex"), (r"hrtimer_nanosleep|common_nsleep", "sleep"), (r"pipe_read|pipe_write", "pipe"),
    (r"flock_lock|fcntl_setlk|locks_lock_inode", "lock"), (r"do_wait|kernel_wait4", "child"),
    (r"wait_for_vfork|kernel_clone", "child"), (r"inet_csk_accept", "accept"),
    (r"do_sys_poll|do_poll", "poll"), (r"ep_poll|do_epoll", "events"), (r"do_select", "events"),
    (r"tcp_recvmsg|sk_wait_data|__skb_wait_for_more_packets|unix_stream_read", "socket"),
    (r"exc_page_fault|handle_mm_fault|filemap_fault|asm_exc_page_fault", "fault"),
    (r"fuse_|request_wait_answer", "filesystem"),
    (r"ext4_|xfs_|btrfs_|iomap_|blk_|jbd2|folio_wait|submit_bio|io_schedule|vfs_fsync|blkdev|filemap", "disk"),
)  # fmt: skip
_EVENT = re.compile(r"\s(\d+\.\d+):\s+sched:(sched_switch|sched_wakeup|sched_wakeup_new):\s(.*)")
_SWITCH = re.compile(r"(\d+) \[\d+\] (\S+) ==> .*?:?(\d+) \[\d+\]$")
_WAKEUP = re.compile(r"(\d+) \[\d+\]")


@dataclass(frozen=True, slots=True)
class SchedulerEvent:
    """One switch (`previous`, its state and stack, `following`) or wakeup (`following`), in seconds.

    `previous` is None for a wakeup, and 0 where the CPU was idle before the switch.
    """

    time: float
    previous: int | None = None
    state: str = ""
    following: int = 0
    stack: str = ""


def start_trace(tids: Iterable[int], seconds: float, output: Path) -> subprocess.Popen[bytes]:
    """Start to record the threads for so long."""
    threads = list(tids)
    switch = "||".join(f"prev_pid=={tid}||next_pid=={tid}" for tid in threads)
    wakeup = "||".join(f"pid=={tid}" for tid in threads)
    command = [
        *("perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "4M", "-g", "--kernel-callchains"),
        *("-o", str(output)),
        *("-e", "sched:sched_switch", "--filter", switch),
        *("-e", "sched:sched_wakeup", "--filter", wakeup, "-e", "sched:sched_wakeup_new", "--filter", wakeup),
        *("--", "sleep", str(seconds)),
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def read_events(path: Path) -> Iterator[SchedulerEvent]:
    """Read what was recorded, in the order of time."""
    command = ["perf", "script", "-i", str(path), "-F", "time,event,trace,ip,sym", "--ns"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as perf:
        assert perf.stdout is not None
        event: SchedulerEvent | None = None
        frames: list[str] = []
        for line in perf.stdout:
            match = _EVENT.search(f" {line}")
            if match is None:
                frames += line.split()[1:2]
                continue
            if event:
                yield _add_stack(event, frames)
            event, frames = _read_event(float(match[1]), match[2], match[3]), []
        if event:
            yield _add_stack(event, frames)


def _read_event(time: float, kind: str, text: str) -> SchedulerEvent | None:
    if kind == "sched_switch":
        fields = dict(re.findall(r"(prev_pid|prev_state|next_pid)=(\S+)", text))
        if len(fields) == 3:
            return SchedulerEvent(
                time, int(fields["prev_pid"]), fields["prev_state"], int(fields["next_pid"])
            )
        switch = _SWITCH.search(text)
        return SchedulerEvent(time, int(switch[1]), switch[2], int(switch[3])) if switch else None
    wakeup = re.search(r"\bpid=(\d+)", text) or _WAKEUP.search(text)
    return SchedulerEvent(time, following=int(wakeup[1])) if wakeup else None


def _add_stack(event: SchedulerEvent, frames: list[str]) -> SchedulerEvent:
    return SchedulerEvent(event.time, event.previous, event.state, event.following, " ".join(frames))


def classify_stack(stack: str) -> str:
    """Return what a thread waits for, from the frames of its switch away."""
    return next((kind for pattern, kind in _FRAMES if re.search(pattern, stack)), "unknown")


def sum_times(
    events: Iterable[SchedulerEvent], tids: Iterable[int], window: tuple[float, float]
) -> dict[str, float]:
    """Return the seconds that the threads spent running, runnable and waiting, by what they waited for.

    A thread without any event waited all the time for something that a trace does not show: `no event`.
    """
    threads = set(tids)
    state: dict[int, tuple[str, float]] = {}
    spent: dict[str, float] = defaultdict(float)
    unknown: dict[int, float] = dict.fromkeys(threads, window[0])

    def move(tid: int, kind: str, time: float) -> None:
        if tid in state:
            was, since = state[tid]
            spent[was] += max(0.0, min(time, window[1]) - max(since, window[0]))
        elif tid in unknown:
            # Before its first event it was where this event took it from.
            before = {RUNNING: RUNNABLE, RUNNABLE: "no event"}.get(kind, RUNNING)
            spent[before] += max(0.0, min(time, window[1]) - window[0])
        unknown.pop(tid, None)
        state[tid] = (kind, time)

    for event in events:
        if event.previous in threads:
            kind = RUNNABLE if event.state.startswith("R") else classify_stack(event.stack)
            move(event.previous, kind, event.time)
        if event.following in threads:
            if event.previous is not None:
                move(event.following, RUNNING, event.time)
            elif state.get(event.following, ("", 0.0))[0] not in {RUNNING, RUNNABLE}:
                move(event.following, RUNNABLE, event.time)
    for tid in list(state):
        move(tid, "end", window[1])
    for since in unknown.values():
        spent["no event"] += window[1] - since
    return dict(spent)

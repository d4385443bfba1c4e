"""Kinds that are computed from events: real recordings of this machine, compared with what perf prints of them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from collectors.catalog.stacks.futex_waits import _WAITS
from collectors.parse.perf import perf_data
from collectors.profiles.limits import ImportRefusedError
from collectors.profiles.samples import SampleTable

pytestmark = pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not built")

CLOCK = ["-a", "-g", "-k", "CLOCK_MONOTONIC", "-N", "-B", "--no-bpf-event", "-m", "1024"]
WALL = ["-e", "cpu-clock/freq=199/", "-e", "sched:sched_switch", *CLOCK]
LOCKS = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static void hold(pthread_mutex_t *lock, long ms) {
    struct timespec time = {0, ms * 1000000};
    pthread_mutex_lock(lock); nanosleep(&time, 0); pthread_mutex_unlock(lock);
}
static void *work(void *unused) {
    for (int i = 0; i < 40; i++) { hold(&first, 10); hold(&second, 2); }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    printf("%p %p\\n", (void *)&first, (void *)&second); fflush(stdout);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
"""
BUSY = """
#include <time.h>
volatile unsigned long steps;
__attribute__((noinline)) void work_hard(void) { for (int i = 0; i < 4000000; i++) steps += i; }
int main(void) {
    struct timespec pause = {0, 20000000};
    for (int i = 0; i < 40; i++) { work_hard(); nanosleep(&pause, 0); }
}
"""


def record(folder: Path, options: list[str], *command: str) -> Path:
    path = folder / "perf.data"
    done = subprocess.run(
        ["perf", "record", "-q", *options, "-o", str(path), "--", *command], capture_output=True, check=False
    )
    if not path.exists():
        pytest.skip(f"perf cannot record this here: {done.stderr[-200:]!r}")
    return path


#: Recordings are of the whole machine, on which other tests run programs too.
PROGRAM = f"kinds-{os.getpid()}"


def compile_program(folder: Path, source: str) -> Path:
    program = folder / PROGRAM
    (folder / "program.c").write_text(source)
    command = ["gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", program, folder / "program.c"]
    subprocess.run(command, check=True)
    return program


def read(
    path: Path, kind: perf_data.Kind, pids: tuple[int, ...] = (), program: Path | None = None
) -> SampleTable:
    """Read a recording with the names of the kernel, and of a program: by inode, as it has no build IDs."""
    store = path.with_name("store")
    store.mkdir(exist_ok=True)
    for module in perf_data.list_modules(path.read_bytes()).modules if program else ():
        if module.key and module.path == str(program):
            (store / module.key).symlink_to(module.path)
    symbols = perf_data.SymbolFiles(kallsyms=Path("/proc/kallsyms"), store=store)
    return perf_data.read_samples(path, symbols, reading=perf_data.Reading(kind, pids))


def print_events(path: Path, fields: str) -> list[str]:
    command = ["perf", "script", "-i", str(path), "--ns", "-F", fields, "-G"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def stacks(table: SampleTable) -> list[list[str]]:
    names = table.frames.strings.all()
    return [[names[table.frames.name[frame]] for frame in table.trie.path(int(at))] for at in table.stack]


def to_ns(text: str) -> int:
    seconds, nanoseconds = text.rstrip(":").split(".")
    return int(seconds) * 10**9 + int(nanoseconds)


def list_threads() -> set[int]:
    """The threads that have not exited."""
    threads = set()
    for path in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "stat").read_text().rpartition(")")[2].split()[0] not in {"X", "Z"}:
                threads.add(int(path.name))
    return threads


def test_the_time_of_a_thread_adds_up_to_the_time_for_which_it_existed(tmp_path: Path) -> None:
    program = compile_program(tmp_path, BUSY)
    before = list_threads()
    path = record(tmp_path, WALL, str(program))
    lasting = before & list_threads()
    table = read(path, "wall_time")
    times = [
        to_ns(match[1])
        for line in print_events(path, "time,event")
        if (match := re.search(r"(\d+\.\d{9}):", line))
    ]
    whole = max(times) - min(times)
    by_thread: Counter[int] = Counter()
    for tid, weight in zip(table.tid.tolist(), table.weight.tolist(), strict=True):
        by_thread[tid] += weight
    assert table.unit == "ns" and max(by_thread.values()) <= whole
    times_of_lasting = [time for tid, time in by_thread.items() if tid in lasting]
    assert times_of_lasting and set(times_of_lasting) == {whole}, "to the nanosecond"
    [tid] = {
        tid for tid, frames in zip(table.tid.tolist(), stacks(table), strict=True) if frames[0] == PROGRAM
    }
    own = table.take(table.tid == tid)
    parts: Counter[str] = Counter()
    for frames, weight in zip(stacks(own), own.weight.tolist(), strict=True):
        parts[frames[1]] += weight
    assert parts["on CPU"] == sum_time_on_cpu(print_events(path, "tid,cpu,time,event,trace"), tid)
    # Of 40 sleeps of 20 ms. The kernel drops some events of switches without a word, and then counts no loss.
    assert parts["blocked"] > 5 * 20_000_000
    sampled = [w for frames, w in zip(stacks(own), own.weight.tolist(), strict=True) if "work_hard" in frames]
    unnamed = [
        w
        for frames, w in zip(stacks(own), own.weight.tolist(), strict=True)
        if frames[-1].startswith(f"{PROGRAM}+")
    ]
    assert sum(sampled) + sum(unnamed) > 0.7 * parts["on CPU"]


def sum_time_on_cpu(lines: list[str], tid: int) -> int:
    """The time between switching in and out, as perf prints the switches. Where a switch is lost, the thread has run
    since the one before it on the same CPU.
    """
    switch = re.compile(r"\[(\d+)\] +(\d+\.\d{9}): +sched:sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+) ")
    before: dict[str, int] = {}
    since = left_at = None
    total = 0
    for cpu, time, left, came in (match.groups() for match in map(switch.search, lines) if match):
        at = to_ns(time)
        if int(left) == tid:
            total += at - (since if since is not None else max(before[cpu], left_at or 0))
            since, left_at = None, at
        if int(came) == tid:
            since = at
        before[cpu] = at
    return total


def test_samples_and_switches_of_different_times_are_refused(tmp_path: Path) -> None:
    """Samples of one program alone, and switches of all CPUs, which go on after it has ended."""
    path = record(tmp_path, ["-e", "sched:sched_switch", *CLOCK], "sleep", "0.2")
    with pytest.raises(ImportRefusedError) as refused:
        read(path, "wall_time")
    assert refused.value.sentence.key == "profile.no_overlap"


def test_requests_have_the_bytes_and_the_time_that_perf_prints(tmp_path: Path) -> None:
    events = ("block:block_rq_insert", "block:block_rq_issue", "block:block_rq_complete/call-graph=no/")
    options = [*(word for event in events for word in ("-e", event)), *CLOCK]
    file = tmp_path / "file"
    write = f"dd if=/dev/zero of={file} bs=64k count=32 oflag=direct && sync {file}"
    path = record(tmp_path, options, "sh", "-c", write)
    time, size, requests = perf_data.split_block_io(read(path, "block_io"))
    assert (time.unit, size.unit, requests.unit) == ("ns", "bytes", "count")
    issue = re.compile(r"(\d+\.\d{9}): +block:block_rq_issue: (\d+,\d+) \S+ (\d+) \(.*?\) (\d+) \+")
    complete = re.compile(r"(\d+\.\d{9}): +block:block_rq_complete: (\d+,\d+) \S+ \(.*?\) (\d+) \+")
    lines = print_events(path, "time,event,trace")
    if not any(map(issue.search, lines)):
        pytest.skip("the file system of this machine has no block device")
    open_requests: dict[tuple[str, str], int] = {}
    total = bytes_issued = count = last = 0
    for line in lines:
        if match := issue.search(line):
            last = to_ns(match[1])
            since = open_requests.pop((match[2], match[4]), None)
            total += last - since if since is not None else 0
            open_requests[match[2], match[4]] = last
            bytes_issued, count = bytes_issued + int(match[3]), count + 1
        elif match := complete.search(line):
            last = to_ns(match[1])
            since = open_requests.pop((match[2], match[3]), None)
            total += last - since if since is not None else 0
    total += sum(last - since for since in open_requests.values())
    assert (time.total, size.total, requests.total) == (total, bytes_issued, count)
    direct = [frames for frames in stacks(requests) if frames[0] == "dd" and frames[1].startswith("write ")]
    assert len(direct) >= 32 and all(
        "__x64_sys_write" in frames or "ksys_write" in frames for frames in direct[:5]
    )


def test_waits_are_below_the_lock_that_they_are_for(tmp_path: Path) -> None:
    program = compile_program(tmp_path, LOCKS)
    output = tmp_path / "addresses"
    options = [
        "-d",
        "-e",
        "syscalls:sys_enter_futex",
        "--filter",
        _WAITS,
        "-e",
        "syscalls:sys_exit_futex/call-graph=no/",
    ]
    path = record(tmp_path, [*options, *CLOCK], "sh", "-c", f"{program} > {output}")
    first, second = output.read_text().split()
    table = read(path, "futex")
    own = table.take(np.array([table.comms[int(at)] == PROGRAM for at in table.comm], bool))
    by_lock: Counter[str] = Counter()
    for frames, weight in zip(stacks(own), own.weight.tolist(), strict=True):
        by_lock[frames[0]] += weight
    locks = {name.split()[0]: name for name in by_lock}
    assert re.fullmatch(rf"{first} {PROGRAM}\+0x[0-9a-f]+ \(process \d+\)", locks[first])
    # Three threads: two of them wait while the third holds the first lock, 40 times each for 10 ms.
    assert 1.0e9 < by_lock[locks[first]] < 2 * 3 * 40 * 15_000_000
    assert by_lock[locks[first]] > 5 * by_lock.get(locks.get(second, ""), 0)
    joins = [name for name in by_lock if "anonymous" in name]
    assert joins, "pthread_join waits for an address in the memory of the thread"


def test_a_recording_without_the_events_of_a_kind_has_no_samples(tmp_path: Path) -> None:
    path = record(tmp_path, ["-e", "cpu-clock", "-F", "99", "-a", "-g"], "sleep", "0.1")
    for kind in ("off_cpu", "wall_time", "block_io", "futex"):
        with pytest.raises(ImportRefusedError) as refused:
            read(path, kind)
        assert refused.value.sentence.key in ("import.no_samples", "profile.no_overlap")


def test_headings_are_no_incomplete_stacks(tmp_path: Path) -> None:
    """`blocked` is no function: what is below it decides whether a stack is whole."""
    path = record(tmp_path, ["-e", "sched:sched_switch", *CLOCK], "sleep", "0.2")
    table = read(path, "off_cpu")
    of_kernel = np.array(
        ["ret_from_fork_asm" in frames or "kthread" in frames for frames in stacks(table)], bool
    )
    # The unwinder of the kernel itself gives up in a few stacks of a busy machine.
    assert of_kernel.any() and table.take(of_kernel).measured().quality.truncated_share < 0.01


WAKING = """
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static sem_t ready;
volatile unsigned long steps;
/* Functions of libc have no frame pointers, so their caller is missing from stacks, but not its caller. */
__attribute__((noinline)) static void post_work(void) { sem_post(&ready); steps++; }
__attribute__((noinline)) void hand_out_work(void) { post_work(); steps++; }
static void *work(void *unused) { for (int i = 0; i < 40; i++) sem_wait(&ready); return unused; }
int main(void) {
    struct timespec pause = {0, 10000000};
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, 0, work, 0);
    for (int i = 0; i < 40; i++) { nanosleep(&pause, 0); hand_out_work(); }
    pthread_join(thread, 0);
}
"""


def test_the_stack_that_ended_a_wait_is_on_top_of_it(tmp_path: Path) -> None:
    program = compile_program(tmp_path, WAKING)
    path = record(tmp_path, ["-e", "sched:sched_switch,sched:sched_waking", *CLOCK], str(program))
    table = read(path, "off_cpu", program=program)
    is_waiter = [
        table.comms[int(comm)] == PROGRAM and tid != pid
        for comm, tid, pid in zip(table.comm, table.tid, table.pid, strict=True)
    ]
    own = table.take(np.array(is_waiter, bool))
    waits: Counter[str] = Counter()
    for frames, weight in zip(stacks(own), own.weight.tolist(), strict=True):
        assert frames[0] == PROGRAM and frames[1] in ("blocked", "runnable"), frames
        at = frames.index("woken by") if "woken by" in frames else len(frames)
        waiting, waking = frames[:at], frames[at + 1 :]
        assert "hand_out_work" not in waiting
        if "hand_out_work" in waking:
            # The waiter from its process inwards, then the waker from its innermost function outwards.
            assert frames[1] == "blocked" and "futex_wait" in waiting and waiting[-1] == "__schedule", frames
            assert waking.index("try_to_wake_up") < waking.index("hand_out_work") < waking.index(PROGRAM), (
                frames
            )
        waits["hand_out_work" if "hand_out_work" in waking else "others"] += weight
    # 40 waits of 10 ms and more. The kernel drops some events on a busy machine.
    assert waits["hand_out_work"] > 5 * 10_000_000, waits
    assert waits["hand_out_work"] > waits["others"], waits

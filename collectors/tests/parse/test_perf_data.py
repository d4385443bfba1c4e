"""The native reader sees what perf sees: recordings of this machine, read by both."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from collectors.parse.perf import perf_data, perf_sched, perf_script
from collectors.profiles.limits import ImportRefusedError, ReaderLimits, WrongFormatError
from collectors.profiles.schedule_builder import build_sched_table
from collectors.profiles.scheduling import (
    IN_HARD_INTERRUPT,
    IN_SOFT_INTERRUPT,
    IN_THREAD,
    NOT_KNOWN,
    WOKEN,
)
from collectors.tests.recorded_profiles import captured, list_samples, list_slices, list_tasks, source

pytestmark = pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not built")

FIELDS = "comm,pid,tid,cpu,time,period,event,ip,sym,dso"
LOAD = "for i in 1 2 3 4 5 6; do ls -lR /usr/share/doc | sort | gzip -1 > /dev/null; done; true | cat"
PROGRAMS = frozenset(("ls", "sort", "gzip", "swapper"))
#: Options of perf record, and whether call chains are compared.
RECORDINGS = {
    "frame pointers": ["-F", "999", "-g"],
    "no chains": ["-F", "999"],
    "all CPUs": ["-F", "999", "-a", "-g", "-k", "CLOCK_MONOTONIC"],
    "user only": ["-e", "cpu-clock:u", "-F", "999", "-g"],
    "kernel only": ["-e", "cpu-clock:k", "-F", "999", "-g"],
    "two events": ["-e", "cpu-clock,page-faults", "-F", "999", "-g"],
    "faults": ["-e", "page-faults", "-c", "1", "-g"],
    "switches": ["-e", "context-switches", "-c", "1", "-g"],
    "tracepoint": ["-e", "sched:sched_switch", "-a", "-g"],
    "two tracepoints": ["-e", "sched:sched_switch,sched:sched_waking", "-a", "-g"],
    "tracepoint and clock": ["-e", "cpu-clock,sched:sched_process_fork", "-F", "499", "-a", "-g"],
    "compressed": ["-F", "999", "-a", "-g", "-z"],
    "compressed well": ["-F", "999", "-g", "--compression-level=9"],
    "no build IDs": ["-F", "999", "-g", "-B"],
    "build IDs in maps": ["-F", "999", "-g", "--buildid-mmap"],
    "no inherited threads": ["-F", "999", "-g", "--no-inherit"],
    "data addresses": ["-F", "999", "-g", "-d"],
    "weights and IDs": ["-F", "999", "-g", "--sample-identifier"],
    "by thread": ["-F", "999", "-g", "--per-thread", "-T"],
    "control groups": ["-F", "999", "-a", "-g", "--all-cgroups"],
    "time and period": ["-F", "999", "-g", "-T", "-P"],
    "small buffers": ["-F", "4999", "-a", "-g", "-m", "2"],
}


def find_symbols(recording: Path) -> perf_data.SymbolFiles:
    """Return the symbols of this machine: by build ID, or by inode where the recording has no build IDs."""
    store = recording.with_name("store")
    store.mkdir()
    for module in perf_data.list_modules(recording.read_bytes()).modules:
        # A file with several names has one inode.
        if module.key and module.key.startswith("inode-") and not (store / module.key).is_symlink():
            (store / module.key).symlink_to(module.path)
    return perf_data.SymbolFiles(kallsyms=Path("/proc/kallsyms"), store=store, root=Path("/"))


def record(folder: Path, options: list[str]) -> Path:
    path = folder / "perf.data"
    command = ["perf", "record", "-q", *options, "-o", str(path), "--", "sh", "-c", LOAD]
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder)
    if not path.exists():
        pytest.skip(f"perf cannot record this here: {done.stderr[-200:]!r}")
    return path


def print_script(path: Path, fields: str = FIELDS) -> bytes:
    """The text of perf script; without the fields that some event of the recording does not have."""
    base = [
        "perf",
        "--no-pager",
        "script",
        "--no-inline",
        "--ns",
        "--show-lost-events",
        "-i",
        str(path),
        "-F",
    ]
    for missing in ((), ("period",), ("cpu",), ("cpu", "period")):
        chosen = ",".join(name for name in fields.split(",") if name not in missing)
        done = subprocess.run([*base, chosen], capture_output=True, check=False)
        if not done.returncode:
            break
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("options", RECORDINGS.values(), ids=list(RECORDINGS))
def test_samples_and_stacks_are_those_of_perf_script(options: list[str], tmp_path: Path) -> None:
    path = record(tmp_path, options)
    symbols = find_symbols(path)
    ours = list_samples(perf_data.read_samples(path, symbols))
    theirs = list_samples(perf_script.parse_perf_script(source(print_script(path))))
    assert len(ours) == len(theirs) == count_samples(path)
    # perf 6.12 forgets the name of a thread when it ends, and prints `:TID` for samples of its last steps.
    known = [a if b[4] != f":{b[3]}" else (*a[:4], b[4], *a[5:]) for a, b in zip(ours, theirs, strict=True)]
    assert [item[:6] for item in known] == [item[:6] for item in theirs]
    if "-g" in options:
        # Only programs of this load: others may be in containers, whose files are elsewhere. The vdso, and stubs without
        # a relocation, are named by perf only.
        named = [(a, b) for a, b in zip(ours, theirs, strict=True) if b[4] in PROGRAMS]
        pairs = [(a[6], b[6]) for a, b in named]
        wrong = Counter(pair for pair in pairs if pair[0] != pair[1])
        assert sum(wrong.values()) <= len(pairs) // 100, list(wrong)[:3]


def count_samples(path: Path) -> int:
    """The samples that perf report counts."""
    text = subprocess.run(
        ["perf", "report", "--stats", "-i", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return next(
        int(line.split()[2]) for line in text.splitlines() if line.split()[:2] == ["SAMPLE", "events:"]
    )


def test_a_stream_is_read_as_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "piped.data"
    with path.open("wb") as out:
        subprocess.run(
            ["perf", "record", "-q", "-F", "999", "-g", "-o", "-", "--", "sh", "-c", LOAD],
            stdout=out,
            check=True,
        )
    symbols = find_symbols(path)
    ours = list_samples(perf_data.read_samples(path, symbols))
    theirs = list_samples(perf_script.parse_perf_script(source(print_script(path))))
    assert [item[:5] for item in ours] == [item[:5] for item in theirs]


def test_a_schedule_is_that_of_the_text_reader(tmp_path: Path) -> None:
    path = tmp_path / "sched.data"
    command = ["perf", "sched", "record", "-o", str(path), "--", "sh", "-c", LOAD]
    if subprocess.run(command, capture_output=True, check=False, cwd=tmp_path).returncode:
        pytest.skip("perf cannot record the scheduler here")
    text = print_script(path, "comm,pid,tid,cpu,time,event,trace")
    theirs, ours = build_sched_table(perf_sched.parse_perf_sched(source(text))), perf_data.read_schedule(path)
    # Two CPUs may switch in the same nanosecond. A program that starts another one has its last name, which the text
    # reader does not always keep.
    assert list_slices(ours) == list_slices(theirs)
    assert list_tasks(ours) == list_tasks(theirs)
    assert (ours.lost, ours.inconsistent, ours.cpus) == (theirs.lost, theirs.inconsistent, theirs.cpus)


def test_the_reader_knows_which_threads_interrupts_wake(tmp_path: Path, busy_cpus: None) -> None:
    path = tmp_path / "sched.data"
    command = [
        "perf",
        "sched",
        "record",
        "-o",
        str(path),
        "--",
        "sh",
        "-c",
        "for i in 1 2 3 4 5; do sleep 0.02; done",
    ]
    if subprocess.run(command, capture_output=True, check=False, cwd=tmp_path).returncode:
        pytest.skip("perf cannot record the scheduler here")
    table = perf_data.read_schedule(path)
    woken = (table.origin == WOKEN) & (table.wake_cpu >= 0)
    assert set(table.wake_context[woken].tolist()) <= {IN_THREAD, IN_SOFT_INTERRUPT, IN_HARD_INTERRUPT}
    assert set(table.wake_context[~woken].tolist()) <= {NOT_KNOWN}
    sleeps = woken & np.isin(table.task, [i for i, name in enumerate(table.comm.all()) if name == "sleep"])
    assert np.count_nonzero(table.wake_context[sleeps] == IN_HARD_INTERRUPT) >= 3, "timers end most sleeps"


@pytest.mark.parametrize("name", ["cpu.txt"])
def test_text_is_read_as_the_python_reader_reads_it(name: str) -> None:
    text = captured(name)
    theirs, ours = perf_script.parse_perf_script(source(text)), perf_data.read_text(source(text))
    assert list_samples(ours) == list_samples(theirs)
    assert ours.quality == theirs.quality


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    for content in (b"", b"PERFILE2", b"PERFILE2" + bytes(200), b"2ELIFREP" + bytes(200), os.urandom(4000)):
        path.write_bytes(content)
        with pytest.raises(WrongFormatError):
            perf_data.read_samples(path)


def test_limits_are_those_of_every_reader(tmp_path: Path) -> None:
    path = record(tmp_path, RECORDINGS["frame pointers"])
    with pytest.raises(ImportRefusedError) as refused:
        perf_data.read_samples(path, limits=ReaderLimits(nodes=10))
    assert refused.value.sentence.key == "import.limit_nodes"


def sum_waits(text: str) -> Counter[tuple[int, str]]:
    """Return nanoseconds by thread and state from the text of `sched_switch`: a wait that has not ended lasts to the end."""
    waits: dict[int, tuple[int, str]] = {}
    spent: Counter[tuple[int, str]] = Counter()
    end = 0
    switch = re.compile(
        r"^\s*(\d+)\.(\d{9}):\s+sched:sched_(switch|waking): .*?(?:prev_pid=(\d+) .*?prev_state=(\S+) ==>.*? next_pid=(\d+) |$)"
    )
    for line in text.splitlines():
        match = switch.match(line)
        if match is None:
            continue
        end = int(match[1]) * 10**9 + int(match[2])
        if match[3] == "waking":
            continue
        left, state, back = int(match[4]), match[5], int(match[6])
        if back in waits:
            since, kind = waits.pop(back)
            spent[back, kind] += end - since
        # The switch by which it came back was lost.
        waits.pop(left, None)
        if left and state[0] not in "XZ":
            waits[left] = (end, "runnable" if state.startswith("R") else "blocked")
    for tid, (since, kind) in waits.items():
        spent[tid, kind] += end - since
    return +spent


@pytest.mark.parametrize("events", ["sched:sched_switch", "sched:sched_switch,sched:sched_waking"])
def test_time_off_the_cpu_is_that_between_the_switches(events: str, tmp_path: Path) -> None:
    path = record(tmp_path, ["-e", events, "-a", "-g", "-k", "CLOCK_MONOTONIC"])
    table = perf_data.read_samples(path, find_symbols(path), reading=perf_data.Reading("off_cpu"))
    names = table.frames.strings.all()
    ours: Counter[tuple[int, str]] = Counter()
    woken = 0
    for stack, tid, weight in zip(table.stack, table.tid, table.weight, strict=True):
        frames = [names[table.frames.name[frame]] for frame in table.trie.path(int(stack))]
        ours[int(tid), next(name for name in frames if name in ("blocked", "runnable"))] += int(weight)
        woken += "woken by" in frames
    command = ["perf", "script", "-i", str(path), "--ns", "-F", "time,event,trace", "-G"]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert +ours == sum_waits(text)
    assert table.unit == "ns"
    assert (woken > 0) == ("waking" in events)
    of_process = perf_data.read_samples(path, reading=perf_data.Reading("off_cpu", (int(table.pid[0]),)))
    assert (
        set(of_process.pid) == {table.pid[0]}
        and of_process.total == table.take(table.pid == table.pid[0]).total
    )

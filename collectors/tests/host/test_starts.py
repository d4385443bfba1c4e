"""Bounds how many programs a capture starts. Starts are counted by strace, in the traced processes only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from collectors.contract import Script
from collectors.registry import COLLECTORS
from collectors.runner import program
from collectors.tests.host.harness import Room, sampled, script

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

#: What guard and sampler start for each second that a run takes, which depends on the load of this machine.
PACED = ("sleep", "du")
_STARTED = re.compile(r"^execve\(\"(?:[^\"]*/)?([^/\"]+)\", .* = 0$", re.MULTILINE)


def count_started(command: list[str], folder: Path, **environment: str) -> Counter[str]:
    """Return how often each program is started by a command and all its children."""
    # A file for each process: in a common one, the lines of a call can be parted.
    options = ["-ff", "-qq", "-e", "trace=execve", "-e", "signal=none", "-o", str(folder / "trace")]
    subprocess.run(
        ["strace", *options, *command],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **environment}, timeout=60, check=True,
    )  # fmt: skip
    traces = list(folder.glob("trace.*"))
    texts = [trace.read_text(errors="replace") for trace in traces]
    for trace in traces:
        trace.unlink()
    return Counter(name for text in texts for name in _STARTED.findall(text))


def count_run(room: Room, jobs: list[program.CollectorJob]) -> int:
    """Return the starts of one run, without those that depend on its time."""
    file = room.top / "program.sh"
    file.write_text(program.build_standalone(jobs, room.limits()))
    started = count_started(["/bin/dash", str(file)], room.top)
    assert started["awk"] + started["mawk"] + started["gawk"] > 0, started
    return sum(number for name, number in started.items() if name not in PACED)


def test_starts_of_a_run_grow_by_few_for_each_script(room: Room) -> None:
    """A script starts setsid, nice, ionice and a shell; the runner itself starts nothing for it but to send groups of files."""
    files = [sampled(f"file{number}", "/proc/loadavg", seconds=1) for number in range(8)]
    few = count_run(room, [*files, *(script(f"s{number}", "echo x") for number in range(2))])
    many = count_run(room, [*files, *(script(f"s{number}", "echo x") for number in range(12))])
    # Files of scripts that end together are sent together, with at most ten programs; there can be one group more.
    assert few <= 90, few
    assert many - few <= 10 * 4 + 10


def test_starts_of_a_run_do_not_grow_with_sampled_collectors(room: Room) -> None:
    few = count_run(room, [sampled("one", "/proc/loadavg", seconds=1)])
    many = count_run(room, [sampled(f"file{number}", "/proc/loadavg", seconds=1) for number in range(20)])
    assert many - few <= 2, (few, many)


@pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("mkfifo") is None, reason="needs bash, mkfifo"
)
@pytest.mark.parametrize("name", ["dns_waits", "process_starts"])
def test_pauses_start_no_programs(name: str, tmp_path: Path) -> None:
    """A script that looks again and again starts as many programs in four seconds as in one."""
    method = COLLECTORS[name].methods[0]
    assert isinstance(method, Script)
    file = tmp_path / "script.sh"
    file.write_text(program.compact_script(method.sh))
    counts = []
    for seconds in ("1", "4"):
        folder = tmp_path / seconds
        folder.mkdir()
        counts.append(count_started(["/bin/dash", str(file)], folder, SECS=seconds))
    # What a look finds may be queried: owners of sockets, units.
    queried = ("ss", "sh", "systemctl", "timeout", "sort", "head")
    short, long = ({name: n for name, n in count.items() if name not in queried} for count in counts)
    assert short == long

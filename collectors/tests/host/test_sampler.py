"""The process that reads counters: its priority, and its limit of CPU time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from collectors.runner import program
from collectors.shell.ticks import PAUSE
from collectors.tests.host.harness import Live, Room, sampled, script

AWKS = [item for item in ("mawk", "gawk", "busybox") if shutil.which(item)]
#: Place of the niceness in /proc/PID/stat, after the command name.
NICE = 16
LARGE = 3 << 20


def test_counters_are_read_at_normal_priority_and_scripts_at_the_lowest(room: Room) -> None:
    """Where no CPU is free, programs of niceness 19 get next to nothing, and the counters would be missing."""
    live = Live([sampled("own", "/proc/self/stat"), script("slow", "cat /proc/self/stat")], room.limits())
    assert live.end() == 0, live.lines
    nice = {
        name: {int(line.rpartition(") ")[2].split()[NICE]) for line in text.split("\n") if ") " in line}
        for name, text in (
            ("own", live.parts()["own", "samples"].decode()),
            ("slow", live.parts()["slow", "stdout"].decode()),
        )
    }
    assert nice == {"own": {0}, "slow": {19}}


@pytest.mark.parametrize("awk", AWKS)
def test_a_reader_that_uses_much_cpu_reads_less_often(tmp_path: Path, awk: str) -> None:
    """A file that takes long to read is read at the start and at the end, and seldom between."""
    large = tmp_path / "large"
    large.write_bytes(b"cpu 1 2 3\n" * (LARGE // 10))
    free, limited = (len(read_times(tmp_path, awk, large, share, seconds=5)) for share in (0.0, 0.02))
    assert 2 <= limited < free


@pytest.mark.parametrize("awk", AWKS)
def test_a_reader_that_uses_little_cpu_keeps_its_interval(tmp_path: Path, awk: str) -> None:
    times = read_times(tmp_path, awk, Path("/proc/loadavg"), 0.02)
    assert len(times) >= 4
    assert times[-1] - times[0] >= 1.8


@pytest.mark.parametrize("awk", AWKS)
def test_settings_are_read_only_first_and_last(tmp_path: Path, awk: str) -> None:
    setting = tmp_path / "setting"
    setting.write_text("1\n")
    times = read_times(tmp_path, awk, Path("/proc/loadavg"), 0.02, more=f"E 1 {setting}\n")
    samples = (tmp_path / f"samples-{awk}-0.02").read_text()
    ticks = [int(tick) for tick in re.findall(rf"(?m)^@ (\d+) \d+ {setting}$", samples)]
    counted = [int(tick) for tick in re.findall(r"(?m)^@ (\d+) \d+ /proc/loadavg$", samples)]
    assert ticks == [counted[0], counted[-1]] and len(counted) >= 4
    assert len(times) == len(ticks) + len(counted)


@pytest.mark.skipif(shutil.which("gawk") is None, reason="gawk is not installed")
def test_gawk_pauses_without_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pause"
    os.mkfifo(pipe)
    monkeypatch.setenv("CULPRIT_PAUSE", str(pipe))
    writer = os.open(pipe, os.O_RDWR)
    try:
        times = read_times(tmp_path, "gawk", Path("/proc/loadavg"), 0.02, sleep="false")
    finally:
        os.close(writer)
    assert 4 <= len(times) <= 12
    assert times[-1] - times[0] >= 1.8


@pytest.mark.skipif(shutil.which("gawk") is None, reason="gawk is not installed")
def test_gawk_sleeps_where_the_pipe_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULPRIT_PAUSE", str(tmp_path / "missing"))
    times = read_times(tmp_path, "gawk", Path("/proc/loadavg"), 0.02)
    assert 4 <= len(times) <= 12


def read_times(
    directory: Path,
    awk: str,
    file: Path,
    share: float,
    seconds: int = 2,
    sleep: str = "sleep",
    more: str = "",
) -> list[float]:
    """Run the sampler for some seconds with five readings a second; return when it read, in seconds.

    `more` are lines of its input for other files.
    """
    sampler = directory / "sampler.awk"
    source = Path(program.__file__).parent / "scripts" / "sampler.awk"
    sampler.write_text(PAUSE + source.read_text(encoding="ascii"), encoding="ascii")
    output = directory / f"samples-{awk}-{share}"
    output.unlink(missing_ok=True)
    (directory / "go").touch()
    variables = {
        "main": "/proc/self/stat",
        "frac": "1",
        "tck": "100",
        "go": f"{directory}/go",
        "nap": sleep,
    }
    subprocess.run(
        [
            *([awk, "awk"] if awk == "busybox" else [awk]),
            *(word for name, value in variables.items() for word in ("-v", f"{name}={value}")),
            "-v",
            f"share={share}",
            "-f",
            str(sampler),
        ],
        input=f"J 1 0.2 0 {seconds} {1 << 30} {output}\nF 1 {file}\n{more}".encode(),
        check=True,
        timeout=60,
    )
    return [int(time_ns) / 1e9 for time_ns in re.findall(rb"(?m)^@ \d+ (\d+) ", output.read_bytes())]

"""Contents of the program for a host, and of the program that a user copies by hand."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Needs, Sampled, Script
from collectors.runner import frames, records
from collectors.runner import program as bundle
from collectors.tests.host.harness import SHELLS, Live, Room, cages, processes, sampled, script, wait_for

JOBS = [script("words", "echo words"), sampled("stat", "/proc/stat")]
RUN = "00000000-0000-7000-8000-000000000000"


def test_program_is_small_and_has_no_comments() -> None:
    program = bundle.build_program(JOBS, bundle.RunnerLimits(run=RUN)).decode()
    assert len(program) < 52_000
    assert not re.search(r"^\s*#", program, re.MULTILINE)
    assert "\n\n" not in program


def test_command_is_a_single_shell_word() -> None:
    command = bundle.build_command(bundle.build_program(JOBS, bundle.RunnerLimits(run=RUN)), sudo="nopasswd")
    assert command.startswith("exec sudo -n -- /bin/sh -c '")
    assert max(map(len, command.rpartition("' culprit ")[2].split())) <= 1000
    assert "\n" not in command


def test_too_large() -> None:
    with pytest.raises(bundle.ProgramTooLargeError):
        noise = random.Random(1).randbytes(120_000).hex()
        bundle.build_command(
            bundle.build_program([script("big", "echo " + noise)], bundle.RunnerLimits(run=RUN))
        )


def test_a_long_program_travels_compressed(room: Room) -> None:
    """And does what a short one does."""
    live = Live([script("long", "echo done; : " + "x" * 120_000)], room.limits())
    assert len(live.command) < 42_000
    assert live.end() == 0, live.lines
    assert live.parts()[("long", "stdout")] == b"done\n"


@pytest.mark.parametrize(
    "change",
    [
        {"run": "$(id)"},
        {"run": RUN + "\n"},
        {"directories": ("/tmp; id",)},
        {"lock_directories": ("relative",)},
        {"lease": "a b"},
        {"deadline_s": -1},
        {"path": "/bin:é"},
    ],
)
def test_invalid_limits_are_rejected(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        bundle.build_program(JOBS, replace(bundle.RunnerLimits(run=RUN), **change))


@pytest.mark.parametrize(
    "job",
    [
        bundle.CollectorJob("x y", (Script("w", Needs(), "true", "true"),), 1),
        bundle.CollectorJob("x", (), 1),
        bundle.CollectorJob("x", (Script("w", Needs(), "true", "true"),), 0),
        bundle.CollectorJob("x", (Script("w;id", Needs(), "true", "true"),), 1),
        bundle.CollectorJob("x", (Script("w", Needs(tools=("a b",)), "true", "true"),), 1),
        bundle.CollectorJob("x", (Sampled("w", Needs(), ("/proc/stat; id",)),), 1),
        bundle.CollectorJob("x", (Sampled("w", Needs(), ("/proc/stat",), 0.001),), 1),
        bundle.CollectorJob("x", (Script("w", Needs(), "echo 好", "true"),), 1),
    ],
)
def test_invalid_jobs_are_rejected(job: bundle.CollectorJob) -> None:
    with pytest.raises(ValueError):
        bundle.build_program([job], bundle.RunnerLimits(run=RUN))


@given(st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=60))
def test_scripts_are_data(text: str) -> None:
    """For any script text, the program around it assigns it and does nothing else."""
    program = bundle.build_program([script("any", text)], bundle.RunnerLimits(run=RUN)).decode()
    quoted = program.partition("\nJ1_1_sh=")[2].partition("\nJ1_1_version=")[0]
    done = subprocess.run(
        ["/bin/dash", "-c", f'x={quoted}\nprintf %s. "$x"'],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C"},
    )
    assert done.stdout.decode() == bundle.compact_script(text) + "."
    assert not done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_parses_everywhere(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "program"
    for text in (
        bundle.build_program(JOBS, bundle.RunnerLimits(run=RUN)).decode(),
        bundle.build_standalone(JOBS, bundle.RunnerLimits(run=RUN)),
    ):
        file.write_text(text)
        subprocess.run([*SHELLS[shell].split(), "-n", str(file)], check=True)


def written(
    room: Room, jobs: list[bundle.CollectorJob], **limits: object
) -> tuple[Path, bundle.RunnerLimits]:
    """A standalone program on disk."""
    chosen = room.limits(**limits)
    path = room.top / "culprit-capture.sh"
    path.write_text(bundle.build_standalone(jobs, chosen))
    return path, chosen


@pytest.mark.parametrize("shell", SHELLS)
def test_standalone_round_trip(room: Room, shell: str) -> None:
    path, limits = written(room, JOBS)
    done = subprocess.run(
        [*SHELLS[shell].split(), str(path)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=30,
        check=False,
    )
    assert not done.returncode, done.stderr
    reader = frames.FrameReader()
    result = reader.feed(done.stdout)
    assert reader.close() is None
    outcomes = {
        records.parse_outcome(item).collector: records.parse_outcome(item)
        for item in result
        if item.header.kind == "outcome"
    }
    assert {name: item.state for name, item in outcomes.items()} == {"words": "done", "stat": "done"}
    assert result[0].header.kind == "hello"
    # The shell that goes on may be another than the one that was started, with other ways to tell the time.
    clocks = [int(item.header.fields["real"]) for item in result if item.header.kind == "clock"]
    assert clocks and all(abs(real / 1e9 - time.time()) < 60 for real in clocks)
    assert not processes(limits.run) and not cages(limits.run)
    assert not room.left()


def test_standalone_to_a_file(room: Room) -> None:
    path, _ = written(room, JOBS)
    out = room.top / "out.bundle"
    subprocess.run(
        ["sh", path.name, "-o", "out.bundle"], cwd=room.top, check=True, timeout=30, stderr=subprocess.DEVNULL
    )
    reader = frames.FrameReader()
    assert reader.feed(out.read_bytes())
    assert reader.close() is None


def test_standalone_asks_for_a_place_to_write(room: Room) -> None:
    if shutil.which("script") is None:
        pytest.skip("no pseudo-terminal at hand")
    path, _ = written(room, JOBS)
    done = subprocess.run(
        ["script", "-qec", f"sh {path}", "/dev/null"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 64
    assert "usage" in done.stdout


def read_outputs(room: Room) -> list[bytes]:
    """What collectors have printed so far."""
    return [file.read_bytes() for file in room.work.rglob("stdout")]


def test_standalone_interrupted(room: Room) -> None:
    """As by Ctrl-C: the whole group gets SIGINT; what there is is kept."""
    path, limits = written(room, [script("slow", "echo begun; exec sleep 60", seconds=60, stop="TERM")])
    with (
        (room.top / "out").open("wb") as out,
        subprocess.Popen(
            ["sh", str(path)], stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process,
    ):
        try:
            assert wait_for(lambda: b"begun\n" in read_outputs(room), 20)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(30) == 3
        finally:
            process.kill()
    reader = frames.FrameReader()
    result = reader.feed((room.top / "out").read_bytes())
    assert reader.close() is None
    assert [item.payload for item in result if item.header.kind == "part"] == [b"begun\n"]
    assert not processes(limits.run) and not room.left()


def test_standalone_ends_by_itself(room: Room) -> None:
    path, limits = written(room, [script("slow", "sleep 60", seconds=60, stop="TERM")], deadline_s=2)
    done = subprocess.run(["sh", str(path)], capture_output=True, timeout=30, check=False)
    assert done.returncode == 3
    assert not processes(limits.run) and not room.left()


@pytest.mark.skipif(shutil.which("sudo") is None or os.geteuid() != 0, reason="needs sudo")
@pytest.mark.parametrize("sudo", ["nopasswd", "password"])
def test_through_sudo(room: Room, sudo: str) -> None:
    """Root may always; the password line that sudo did not want is no heartbeat and no harm."""
    live = Live(JOBS, room.limits(), sudo=sudo, first_line="s3cret" if sudo == "password" else "")
    assert live.end() == 0, live.lines
    assert {item.state for item in live.outcomes().values()} == {"done"}
    assert "s3cret" not in live.command
    live.gone(room, 2)

"""What a program is made of; and the one that is carried by hand."""

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

from collectors import bundle, frames, records
from collectors.contract import Needs, Sampled, Script
from collectors.tests.host.harness import SHELLS, Live, Room, cages, processes, sampled, script, wait_for

JOBS = [script("words", "echo words"), sampled("stat", "/proc/stat")]
RUN = "00000000-0000-7000-8000-000000000000"


def test_program_is_small_and_says_nothing_of_itself() -> None:
    program = bundle.build(JOBS, bundle.Limits(run=RUN)).decode()
    assert len(program) < 46_000
    assert not re.search(r"^\s*#", program, re.MULTILINE)
    assert "\n\n" not in program


def test_runs_in_one_word_after_another() -> None:
    command = bundle.command(bundle.build(JOBS, bundle.Limits(run=RUN)), sudo="nopasswd")
    assert command.startswith("exec sudo -n -- /bin/sh -c '")
    assert max(map(len, command.rpartition("' culprit ")[2].split())) <= 1000
    assert "\n" not in command


def test_too_large() -> None:
    with pytest.raises(bundle.TooLarge):
        noise = random.Random(1).randbytes(120_000).hex()
        bundle.command(bundle.build([script("big", "echo " + noise)], bundle.Limits(run=RUN)))


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
def test_limits_that_no_host_is_asked(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        bundle.build(JOBS, replace(bundle.Limits(run=RUN), **change))


@pytest.mark.parametrize(
    "job",
    [
        bundle.Job("x y", (Script("w", Needs(), "true", "true"),), 1),
        bundle.Job("x", (), 1),
        bundle.Job("x", (Script("w", Needs(), "true", "true"),), 0),
        bundle.Job("x", (Script("w;id", Needs(), "true", "true"),), 1),
        bundle.Job("x", (Script("w", Needs(tools=("a b",)), "true", "true"),), 1),
        bundle.Job("x", (Sampled("w", Needs(), ("/proc/stat; id",)),), 1),
        bundle.Job("x", (Sampled("w", Needs(), ("/proc/stat",), 0.001),), 1),
        bundle.Job("x", (Script("w", Needs(), "echo 好", "true"),), 1),
    ],
)
def test_jobs_that_no_host_is_asked(job: bundle.Job) -> None:
    with pytest.raises(ValueError):
        bundle.build([job], bundle.Limits(run=RUN))


@given(st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=60))
def test_scripts_are_data(text: str) -> None:
    """Whatever a script says, the program around it assigns it and nothing else."""
    program = bundle.build([script("any", text)], bundle.Limits(run=RUN)).decode()
    quoted = program.partition("\nJ1_1_sh=")[2].partition("\nJ1_1_version=")[0]
    done = subprocess.run(
        ["/bin/dash", "-c", f'x={quoted}\nprintf %s. "$x"'],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C"},
    )
    assert done.stdout.decode() == bundle.travelling(text) + "."
    assert not done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_parses_everywhere(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "program"
    for text in (
        bundle.build(JOBS, bundle.Limits(run=RUN)).decode(),
        bundle.standalone(JOBS, bundle.Limits(run=RUN)),
    ):
        file.write_text(text)
        subprocess.run([*SHELLS[shell].split(), "-n", str(file)], check=True)


def written(room: Room, jobs: list[bundle.Job], **limits: object) -> tuple[Path, bundle.Limits]:
    """A standalone program on disk."""
    chosen = room.limits(**limits)
    path = room.top / "culprit-bundle.sh"
    path.write_text(bundle.standalone(jobs, chosen))
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
    found = reader.feed(done.stdout)
    assert reader.close() is None
    outcomes = {
        records.outcome(one).collector: records.outcome(one) for one in found if one.header.kind == "outcome"
    }
    assert {name: one.state for name, one in outcomes.items()} == {"words": "done", "stat": "done"}
    assert found[0].header.kind == "hello"
    # The shell that goes on may be another than the one that was started, with other ways to tell the time.
    clocks = [int(one.header.fields["real"]) for one in found if one.header.kind == "clock"]
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


def said(room: Room) -> list[bytes]:
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
            assert wait_for(lambda: b"begun\n" in said(room), 20)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(30) == 3
        finally:
            process.kill()
    reader = frames.FrameReader()
    found = reader.feed((room.top / "out").read_bytes())
    assert reader.close() is None
    assert [one.payload for one in found if one.header.kind == "part"] == [b"begun\n"]
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
    assert {one.state for one in live.outcomes().values()} == {"done"}
    assert "s3cret" not in live.command
    live.gone(room, 2)

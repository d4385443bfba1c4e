"""One capture per host, and what earlier runs left is removed by the next."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from collectors.tests.host.harness import SHELLS, Live, Room, cages, processes, script, wait_for

pytestmark = pytest.mark.long(40)

SLEEP = [script("sleeps", "sleep 30", seconds=30)]
QUICK = [script("quick", "echo quick")]
KINDS = {"flock": (), "mkdir": ("flock", "busybox")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shell", SHELLS)
def test_second_run_learns_the_holder_of_the_lease(room: Room, kind: str, shell: str) -> None:
    path = room.tools(*KINDS[kind])
    first = Live(SLEEP, room.limits(path=path), shell=SHELLS[shell])
    first.until("progress sleeps running")
    assert first.lines_of("hello")["lease"] == kind
    second = Live(QUICK, room.limits(path=path), shell=SHELLS[shell])
    assert second.end() == 75
    busy = second.lines_of("busy")
    assert busy["run"] == first.limits.run
    assert int(busy["pid"]) == first.role("main")
    assert abs(int(busy["since"]) - time.time()) < 30
    assert second.reader.close() is None
    # Another kind of lease is another matter.
    other = Live(QUICK, room.limits(path=path, lease="preflight"), shell=SHELLS[shell])
    assert other.end() == 0
    first.hang_up()
    first.gone(room, 10)
    third = Live(QUICK, room.limits(path=path), shell=SHELLS[shell])
    assert third.end() == 0
    third.gone(room, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_many_at_once(room: Room, kind: str) -> None:
    """Of eight that start together, those that run do not overlap."""
    path = room.tools(*KINDS[kind])
    job = [script("marks", f"echo in >> {room.top}/log; sleep 1; echo out >> {room.top}/log")]
    lives = [Live(job, room.limits(path=path)) for _ in range(8)]
    statuses = sorted(live.end() for live in lives)
    assert statuses.count(0) >= 1
    assert set(statuses) <= {0, 75}
    lines = (room.top / "log").read_text().split()
    assert lines == ["in", "out"] * statuses.count(0)


@pytest.mark.parametrize("kind", KINDS)
def test_everything_killed_at_once(room: Room, kind: str) -> None:
    """Main shell, guard and all: the next run ends the orphans, removes the directory, and gets the lease."""
    path = room.tools(*KINDS[kind])
    daemon = "setsid sleep 200 & setsid sleep 200 & sleep 200"
    first = Live([script("orphans", daemon, seconds=200)], room.limits(path=path, deadline_s=300))
    first.until("progress orphans running")
    assert wait_for(lambda: len(processes(first.limits.run)) >= 8, 10)
    time.sleep(0.3)
    keep = {pid for pid in processes(first.limits.run) if Path(f"/proc/{pid}/comm").read_text() == "sleep\n"}
    victims = set(processes(first.limits.run)) - keep
    # Stopped first: else the last process sees the others die and begins to clean up.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (first.role("guard"), *victims):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    first.end()
    assert processes(first.limits.run)
    assert room.left()
    second = Live(QUICK, room.limits(path=path))
    assert second.end() == 0
    assert second.lines_of("hello")["stale_removed"] == "1"
    assert not processes(first.limits.run)
    assert not cages(first.limits.run)
    second.gone(room, 2)


def leftover(room: Room, **lines: str) -> Path:
    """A directory as an earlier run would have left it."""
    run = str(uuid.uuid4())
    directory = room.work / f"culprit-{run}"
    (directory / "l").mkdir(parents=True)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    manifest = {"run": run, "boot": boot, "end": "1", "main": "999999 1", "cgroups": ""} | lines
    (directory / "manifest").write_text("".join(f"{key} {value}\n" for key, value in manifest.items()))
    return directory


def test_what_is_swept_and_what_is_not(room: Room) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as innocent:
        start = Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(")")[2].split()[19]
        dead = leftover(room)
        (dead / "l" / "1").write_text(
            f"{innocent.pid} 12345 0 0 INT x\n"
        )  # the pid was taken by another since
        other_boot = leftover(room, boot=str(uuid.uuid4()), main=f"{innocent.pid} {start}")
        at_work = leftover(room, main=f"{innocent.pid} {start}", end="99999999999")
        overdue = leftover(room, main="999999 1", end="99999999999")
        hostile = leftover(room, run="$(touch /tmp/owned)")
        unfinished = room.work / "culprit-11111111-just-made"
        unfinished.mkdir()
        link = room.work / "culprit-22222222-link"
        link.symlink_to(room.top / "elsewhere")
        (room.top / "elsewhere").mkdir()
        (room.top / "elsewhere" / "manifest").write_text("run aaaa\nboot x\n")
        live = Live(QUICK, room.limits())
        assert live.end() == 0
        assert innocent.poll() is None
        assert not dead.exists() and not other_boot.exists() and not overdue.exists()
        assert at_work.exists() and hostile.exists() and unfinished.exists() and link.exists()
        assert (room.top / "elsewhere" / "manifest").exists()
        innocent.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to another user")
def test_leftovers_of_others_are_not_trusted(room: Room) -> None:
    """Any user may write a manifest into /tmp that names the process of another user."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as innocent:
        start = Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(")")[2].split()[19]
        planted = leftover(room)
        (planted / "l" / "1").write_text(f"{innocent.pid} {start} 0 0 INT x\n")
        os.chown(planted, 12345, 12345)
        live = Live(QUICK, room.limits())
        assert live.end() == 0
        assert innocent.poll() is None and planted.exists()
        innocent.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_root_and_another_user_do_not_block_each_other(room: Room) -> None:
    """A lease that both could take would let an account with fewer rights block root; the server keeps its own apart."""
    for directory in (room.top, *room.top.parents[:3]):
        directory.chmod(directory.stat().st_mode | 0o055)
    login = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "/bin/sh", "-c"]
    first = Live(SLEEP, room.limits(), login=login)
    first.until("progress sleeps running")
    assert first.lines_of("hello")["uid"] == "12345"
    assert first.lines_of("hello")["limiter"] == "nice"
    assert first.lines_of("hello")["lease"] == "flock"
    assert (room.locks / "culprit.12345").stat().st_mode & 0o777 == 0o700
    root = Live(QUICK, room.limits())
    assert root.end() == 0, root.lines
    # The same account twice is one too many.
    second = Live(QUICK, room.limits(), login=login)
    assert second.end() == 75
    assert second.lines_of("busy")["run"] == first.limits.run
    first.hang_up()
    first.gone(room, 10)
    third = Live(QUICK, room.limits(), login=login)
    assert third.end() == 0, third.lines
    third.gone(room, 3)

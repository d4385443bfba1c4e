"""However a run ends, nothing of it stays on the host."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from collectors.tests.host.harness import SHELLS, Live, Room, cages, processes, sampled, script, wait_for

pytestmark = pytest.mark.long(130)

# Ignores what can be ignored, and starts a daemon that left its session, its group and its parent.
FOREVER = "while :; do sleep 1; done"
STUBBORN = f'trap "" INT TERM HUP; (setsid sh -c "trap \\"\\" INT TERM; {FOREVER}" &) ; {FOREVER}'
LONG = [
    script("stubborn", STUBBORN, seconds=60),
    script("writer", "while :; do echo line; sleep 0.1; done > log", seconds=60),
    sampled("stat", "/proc/stat", seconds=60),
    script("turn", "sleep 60", seconds=60, exclusive=True),
    script("never", "sleep 60", seconds=60, exclusive=True),
]


def started(room: Room, shell: str = "dash", **limits: object) -> Live:
    """A long run whose collectors are all at work."""
    live = Live(LONG, room.limits(**limits), shell=SHELLS[shell])
    for name in ("stubborn", "writer", "stat", "turn"):
        live.until(f"progress {name} running")
    # The stubborn one's daemon and the files exist.
    assert wait_for(lambda: len(processes(live.limits.run)) > 10, 10)
    assert wait_for(lambda: any(log.stat().st_size for log in room.work.rglob("log")), 10)
    return live


@pytest.mark.parametrize("shell", SHELLS)
def test_end_of_file(room: Room, shell: str) -> None:
    live = started(room, shell)
    live.hang_up()
    live.gone(room, 10)
    assert live.end() != 0


def test_silence(room: Room) -> None:
    live = started(room, silence_s=2)
    time.sleep(1.5)
    assert live.process.poll() is None
    live.beating = False
    live.gone(room, 10)
    assert live.end() != 0


@pytest.mark.parametrize("shell", SHELLS)
def test_deadline_sends_what_there_is(room: Room, shell: str) -> None:
    live = started(room, shell, deadline_s=3)
    assert live.end(20) == 3
    live.gone(room, 5)
    assert live.reader.close() is None
    outcomes = live.outcomes()
    assert outcomes["never"].state == "canceled"
    assert outcomes["writer"].state == "canceled"
    assert outcomes["writer"].reason.params == {"why": "deadline"}
    assert live.parts()["writer", "log"].startswith(b"line\n")
    assert live.parts()["stat", "samples"].startswith(b"@ 0 ")
    assert {frame.header.fields["complete"] for frame in live.of("part")} == {"0"}
    assert live.lines_of("end") | {"state": "stopped", "why": "deadline"} == live.lines_of("end")


def test_cancel(room: Room) -> None:
    live = started(room)
    at = time.monotonic()
    live.send_line("cancel")
    assert live.end(15) == 3
    live.gone(room, 5)
    assert time.monotonic() - at < 10
    assert {result.state for result in live.outcomes().values()} == {"canceled"}


def test_cancel_is_quick_when_collectors_listen(room: Room) -> None:
    live = Live([script("kind", "exec sleep 60", stop="TERM", seconds=60), LONG[2]], room.limits())
    live.until("progress kind running")
    live.until("progress stat running")
    time.sleep(0.3)
    at = time.monotonic()
    live.send_line("cancel")
    assert live.end(10) == 3
    assert time.monotonic() - at < 5
    live.gone(room, 2)


@pytest.mark.parametrize("shell", SHELLS)
def test_main_shell_killed(room: Room, shell: str) -> None:
    live = started(room, shell)
    os.kill(live.role("main"), signal.SIGKILL)
    live.gone(room, 15)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_main_shell_killed_while_it_creates_groups(room: Room, number: int) -> None:
    """`mkdir` kills its parent when the nth control group exists."""
    if os.getuid() != 0 or len(list(Path("/sys/fs/cgroup").glob("*/cgroup.procs"))) < number:
        pytest.skip("needs root and that many hierarchies of control groups")
    path = Path(room.tools("mkdir"))
    counter = room.top / "counter"
    (path / "mkdir").write_text(
        f"""#!/bin/sh
        case "$*" in /sys/fs/cgroup/*) ;; *) exec {shutil.which("mkdir")} "$@" ;; esac
        for group; do
          {shutil.which("mkdir")} "$group" || exit 1
          echo >>{counter}
          [ "$(wc -l <{counter})" -ne {number} ] || {{ kill -KILL $PPID; exit; }}
        done
        """
    )
    (path / "mkdir").chmod(0o755)
    live = Live(LONG, room.limits(), login=["/usr/bin/env", f"PATH={path}", "/bin/sh", "-c"])
    assert wait_for(lambda: live.process.poll() is not None, 20)
    live.gone(room, 15)
    assert counter.read_text().count("\n") == number


@pytest.mark.parametrize("shell", SHELLS)
def test_guard_killed(room: Room, shell: str) -> None:
    live = started(room, shell)
    os.kill(live.role("guard"), signal.SIGKILL)
    live.gone(room, 15)
    assert live.end() == 70


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_to_the_main_shell(room: Room, number: int) -> None:
    live = started(room)
    os.kill(live.role("main"), number)
    assert live.end(20) == 3
    live.gone(room, 5)
    assert live.parts()["writer", "log"].startswith(b"line\n")


def test_stopped_main_shell(room: Room) -> None:
    live = started(room, silence_s=2)
    os.kill(live.role("main"), signal.SIGSTOP)
    live.beating = False
    live.gone(room, 15)


def test_run_ends_when_stream_is_not_read(room: Room) -> None:
    """The stream is stalled: the end of the run must not wait for it."""
    jobs = [script("flood", "yes 0123456789 | head -c 8000000 > big; sleep 60", seconds=1, grace_s=1)]
    limits = room.limits(silence_s=3, zstd_ok=False, path=room.tools("gzip", "zstd", "busybox"))
    live = Live(jobs, limits, deaf=True)
    live.beating = False
    assert wait_for(lambda: bool(processes(limits.run)), 5)
    live.gone(room, 20)


def test_daemons_do_not_outlive_a_run_that_went_well(room: Room) -> None:
    sh = 'setsid sh -c "sleep 300 & sleep 300" </dev/null >/dev/null 2>&1 & sleep 300 & echo ok'
    live = Live([script("leaky", sh)], room.limits())
    assert live.end() == 0
    assert live.outcomes()["leaky"].state == "done"
    live.gone(room, 1)


@pytest.mark.parametrize("without", [(), ("setsid", "busybox"), ("setsid", "timeout", "busybox")])
def test_own_deadline_of_a_collector(room: Room, without: tuple[str, ...]) -> None:
    """It ignores INT and TERM; the others are not disturbed."""
    jobs = [
        script("hangs", 'trap "" INT TERM; echo begun; while :; do sleep 1; done', seconds=1, grace_s=1),
        script("kind", "sleep 4; echo done", seconds=5),
    ]
    live = Live(jobs, room.limits(path=room.tools(*without)))
    assert live.end() == 0
    outcomes = live.outcomes()
    assert outcomes["hangs"].state == "timed_out"
    assert outcomes["hangs"].reason.key == "reason.deadline"
    assert live.parts()["hangs", "stdout"] == b"begun\n"
    assert outcomes["kind"].state == "done"
    assert (outcomes["hangs"].ended_ns - outcomes["hangs"].started_ns) / 1e9 < 9
    live.gone(room, 2)


def test_int_ends_a_tool_and_the_script_goes_on(room: Room) -> None:
    """A tool that handles INT (as perf does) ends; the script may still make something of what it wrote."""
    tool = "import signal,time; signal.signal(2, lambda *a: exit(0)); time.sleep(60)"
    sh = f"python3 -c '{tool}'; echo after > after"
    live = Live([script("two", sh, seconds=60)], room.limits(deadline_s=2))
    assert live.end(20) == 3
    assert live.parts()["two", "after"] == b"after\n"


@pytest.mark.parametrize(
    "sh",
    [
        "dd if=/dev/zero of=big bs=64k count=100000",
        "yes",
        "for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=part$i bs=300k count=1; done; sleep 30",
        "trap '' XFSZ; yes 2>&1",
    ],
    ids=["one file", "stdout", "many files", "ignores the limit"],
)
def test_byte_cap(room: Room, sh: str) -> None:
    cap = 2_000_000
    live = Live([script("greedy", sh, max_bytes=cap, seconds=20)], room.limits())
    top = 0
    while live.process.poll() is None:
        sizes = 0
        for item in room.work.glob("culprit-*/c/1/*"):
            with contextlib.suppress(OSError):
                sizes += item.stat().st_blocks * 512
        top = max(top, sizes)
        time.sleep(0.02)
    live.end()
    assert top <= cap + (1 << 20)
    greedy = live.outcomes()["greedy"]
    assert greedy.reason.key in ("reason.byte_cap", "reason.exit")
    assert greedy.bytes <= cap + (1 << 20)
    live.gone(room, 2)


def test_cages_are_left_empty(room: Room) -> None:
    live = started(room)
    there = cages(live.limits.run)
    live.hang_up()
    live.gone(room, 10)
    if os.geteuid() == 0:
        assert there

"""Two processes that watch each other, so that no kill of either leaves a child of theirs behind.

The warden is what the person started; the supervisor is its child and starts everything else. Both adopt
orphans below them (PR_SET_CHILD_SUBREAPER). When the supervisor dies, the warden kills whatever is left; when
the warden dies, the supervisor gets SIGTERM and stops in order; when both die at once, each direct child of
the supervisor gets the signal that its guard asked for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from culprit.launch import guard

PR_SET_CHILD_SUBREAPER = 36
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
SWEEP_S = 10.0


def adopt_orphans() -> None:
    """Orphaned descendants become our children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """All processes below `pid`, by one pass over /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = (entry / "stat").read_text("ascii", "replace")
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [pid]
    while queue:
        below = parents.get(queue.pop(), [])
        found += below
        queue += below
    return found


def reap() -> None:
    """Collect children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def reap_adopted(own: set[int]) -> None:
    """Collect ended orphans that we adopted, but no child of `own`, whose exit codes others wait for."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, 0)


def sweep(grace_s: float = 0.0) -> list[int]:
    """Let what is below us end within `grace_s`, kill the rest; returns what had to be killed."""
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline:
        reap()
        if not descendants(os.getpid()):
            return []
        time.sleep(0.05)
    killed: set[int] = set()
    deadline = time.monotonic() + SWEEP_S
    while time.monotonic() < deadline:
        reap()
        left = descendants(os.getpid())
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.02)
    return sorted(killed)


def watch_over(supervisor: Callable[[], int]) -> int:
    """Run `supervisor` in a child and be its warden; returns its exit code once nothing is left below us."""
    sys.stdout.flush()
    warden = os.getpid()
    child = os.fork()
    if child == 0:
        guard.die_with_parent(signal.SIGTERM, warden)
        adopt_orphans()
        _run(supervisor)
    adopt_orphans()

    def forward(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    # Ctrl-C reaches the whole foreground group: the supervisor acts on it, we wait for it.
    signal.signal(signal.SIGINT, lambda *_: None)
    status = _wait(child)
    sweep()
    if os.WIFSIGNALED(status):
        sys.stderr.write(
            f"culprit: the supervisor was killed (signal {os.WTERMSIG(status)}); all is stopped\n"
        )
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _run(supervisor: Callable[[], int]) -> NoReturn:
    """The forked child never returns into the warden's code, whatever happens."""
    code = 1
    try:
        code = supervisor()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status

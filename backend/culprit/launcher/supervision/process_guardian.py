"""Two processes that watch each other, so that killing either leaves no child behind.

The user starts the guardian. The supervisor is its child and starts everything else. Both adopt orphans below
them (PR_SET_CHILD_SUBREAPER). When the supervisor dies, the guardian kills all descendants. When the guardian
dies, the supervisor gets SIGTERM and stops in order. When both die at once, each direct child of the
supervisor gets the signal that it asked the kernel for.
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

from culprit.launcher.supervision import child_processes

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
SWEEP_S = 10.0


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def list_descendants(pid: int) -> list[int]:
    """Return all processes below `pid`, by one pass over /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := child_processes.read_stat(entry.name)):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    results: list[int] = []
    queue = [pid]
    while queue:
        below = parents.get(queue.pop(), [])
        results += below
        queue += below
    return results


def reap_adopted(own: set[int]) -> None:
    """Collect adopted orphans that have ended, but no child of `own`, whose exit codes others wait for."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, 0)


def kill_descendants(grace_s: float = 0.0) -> list[int]:
    """Let descendants end within `grace_s`, then kill them. Return the killed ones."""
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline:
        reap_adopted(set())
        if not list_descendants(os.getpid()):
            return []
        time.sleep(0.05)
    killed: set[int] = set()
    deadline = time.monotonic() + SWEEP_S
    while time.monotonic() < deadline:
        reap_adopted(set())
        left = list_descendants(os.getpid())
        if not left:
            break
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.02)
    return sorted(killed)


def run_guarded(supervisor: Callable[[], int]) -> int:
    """Run `supervisor` in a child and be its guardian. Return its exit code when no descendant is left."""
    sys.stdout.flush()
    guardian = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != guardian:
            os._exit(1)
        adopt_orphans()
        _run_supervisor(supervisor)
    adopt_orphans()

    def forward(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    # Ctrl-C reaches the whole foreground group: the supervisor handles it, the guardian waits for it.
    signal.signal(signal.SIGINT, lambda *_: None)
    status = _wait_child(child)
    kill_descendants()
    if os.WIFSIGNALED(status):
        sys.stderr.write(
            f"culprit: the supervisor was killed (signal {os.WTERMSIG(status)}); all processes are stopped\n"
        )
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _run_supervisor(supervisor: Callable[[], int]) -> NoReturn:
    """Run the supervisor in the forked child, which never returns into the code of the guardian."""
    code = 1
    try:
        code = supervisor()
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait_child(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status

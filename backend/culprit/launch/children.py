"""Start a child that dies with us, and stop it.

Every child leads a session of its own, so that Ctrl-C in the terminal reaches the supervisor alone and the
order of stopping stays ours.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

GUARD = Path(__file__).with_name("guard.py")


def guarded(
    command: Sequence[str], *, death_signal: int = signal.SIGTERM, user: tuple[int, int] | None = None
) -> list[str]:
    """`command` wrapped so that it dies with this process; `user` is (uid, gid) to drop to."""
    options = ["--parent", str(os.getpid()), "--signal", str(int(death_signal))]
    if user is not None:
        options += ["--user", f"{user[0]}:{user[1]}"]
    return [sys.executable, "-IS", str(GUARD), *options, "--", *command]


def start(
    command: Sequence[str],
    *,
    log: IO[bytes] | int | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    death_signal: int = signal.SIGTERM,
    user: tuple[int, int] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` guarded, output into `log` (default: nowhere).

    Raises RuntimeError outside the main thread: the kernel would kill the child when that thread ends.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("children are started from the main thread, with whose death they die")
    output = subprocess.DEVNULL if log is None else log
    return subprocess.Popen(
        guarded(command, death_signal=death_signal, user=user),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output if log is None else subprocess.STDOUT,
        env=None if env is None else dict(env),
        cwd=cwd,
        start_new_session=True,
    )


def stop(child: subprocess.Popen[bytes], signals: Sequence[tuple[int, float]]) -> int:
    """Send each signal and wait its seconds, then SIGKILL the child's whole group; returns the exit code."""
    for number, seconds in signals:
        if child.poll() is not None:
            break
        child.send_signal(number)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    kill_group(child.pid)
    return child.wait()


def kill_group(leader: int) -> None:
    """SIGKILL what is left of the process group of `leader`, which may itself be gone."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def alive(pid: int) -> bool:
    """Whether `pid` is a process that is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_gone(pid: int, seconds: float) -> bool:
    """Wait until `pid` is gone; False where it is still there after `seconds`."""
    deadline = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True

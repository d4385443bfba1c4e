"""Start a child process that dies with this process, and stop it.

`setpriv` of util-linux asks the kernel for a signal at the death of the parent. Every child leads its own
session, so that Ctrl-C reaches only the supervisor, which stops the children in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

LOG_LINES = 12
StopSignals = Sequence[tuple[int, float]]


def guard_command(
    command: Sequence[str], *, death_signal: int = signal.SIGTERM, user: tuple[int, int] | None = None
) -> list[str]:
    """Return `command` wrapped so that it dies with this process. `user` is (uid, gid) to drop to."""
    drop = ["--reuid", str(user[0]), "--regid", str(user[1]), "--clear-groups"] if user else []
    return ["setpriv", *drop, "--pdeathsig", signal.Signals(death_signal).name, "--", *command]


def start_child(
    command: Sequence[str],
    *,
    log: IO[bytes] | int = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    death_signal: int = signal.SIGTERM,
    user: tuple[int, int] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` guarded, with its output in `log` (default: discarded).

    Raises RuntimeError outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "start children from the main thread: the kernel kills them when the starting thread ends"
        )
    return subprocess.Popen(
        guard_command(command, death_signal=death_signal, user=user), stdin=subprocess.DEVNULL, stdout=log,
        stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True,
    )  # fmt: skip


def stop_child(child: subprocess.Popen[bytes], signals: StopSignals) -> int:
    """Send each signal and wait its seconds, then SIGKILL the process group of the child.

    Return the exit code.
    """
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
    """SIGKILL the remaining processes of the group of `leader`, which may have ended."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def read_stat(pid: int | str) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return stat.rpartition(")")[2].split()


def is_alive(pid: int) -> bool:
    """Return whether `pid` is a process that is not a zombie."""
    return read_stat(pid)[:1] not in ([], ["Z"])


def wait_gone(pid: int, seconds: float) -> bool:
    """Wait until `pid` has ended. Return False if it still runs after `seconds`."""
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def read_last_lines(path: Path) -> list[str]:
    """Return the last lines of a file, none if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 3000))
            return file.read().decode("utf-8", "replace").strip().splitlines()[-LOG_LINES:]
    except OSError:
        return []


class ManagedProcess:
    """A child process that can be stopped and started again: a service, or a database server."""

    def __init__(self, name: str, stop_signals: StopSignals) -> None:
        self.name = name
        self.stop_signals = stop_signals
        self.log_path = Path(os.devnull)
        self.child: subprocess.Popen[bytes] | None = None

    def restart(self, failures: int) -> None:
        """Start the process without waiting until it is ready; `failures` counts its recent failures."""
        raise NotImplementedError

    def is_ready(self) -> bool:
        """Return whether the running process does its work."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int | None:
        """Exit code; None while it runs, after `stop`, or before it was started.

        The group of an ended process is killed before its ID can belong to another process.
        """
        if self.child is None or self.child.returncode is not None:
            return None if self.child is None else self.child.returncode
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if os.waitid(os.P_PID, self.child.pid, options) is None:
            return None
        kill_group(self.child.pid)
        return self.child.wait()

    @property
    def pid(self) -> int | None:
        """Process ID, or None if it does not run."""
        return self.child.pid if self.child and self.exit_code is None else None

    def stop(self) -> None:
        """Stop the process. Repeating it changes nothing."""
        if self.child is not None:
            stop_child(self.child, self.stop_signals)
            self.child = None

    def kill(self) -> None:
        """Kill the process and its group."""
        if self.pid is not None and self.child is not None:
            stop_child(self.child, ())

    def read_log_tail(self) -> list[str]:
        """Return the last lines of the log."""
        return read_last_lines(self.log_path)

"""Clean up after a lab environment, even when the process that made it is killed.

Run as a process of its own (`python -m lab.cleanup MAX_S`), it takes orders as JSON lines on standard input
and answers each with one line. When its input ends, because the environment was closed or its owner was killed,
or after MAX_S, it kills everything in the environment's control groups, restores what was changed, and removes the
rest. Settings of the whole machine are changed by the cleanup itself: it holds a lock on each, so that two labs
never take each other's value for the original one.

    {"remove": ["/sys/fs/cgroup/cpu/lab/web-3", ...]}    groups to empty and remove, directories to delete
    {"set": "/proc/sys/net/netfilter/nf_conntrack_max", "value": "200"}
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from lab.cgroups import destroy_groups

LOCK_WAIT_S = 120.0
CLOSE_S = 15.0


class CleanupProcess:
    """The owner's end: gives orders, and waits for the cleaning on close()."""

    def __init__(self, max_s: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab.cleanup", str(max_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            cwd=Path(__file__).parents[1],
        )  # fmt: skip

    def remove(self, paths: list[Path]) -> None:
        self._order({"remove": [str(path) for path in paths]})

    def set_global(self, path: str, value: str) -> None:
        """Changes a setting of the whole machine until the environment is closed."""
        self._order({"set": path, "value": value})

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(CLOSE_S)
        self.process.stdout.close()

    def _order(self, order: dict[str, Any]) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "ok":
            raise RuntimeError(f"cleanup: {answer or 'gone'}")


class _PendingCleanup:
    """What is to be undone, in reverse order."""

    def __init__(self) -> None:
        self.remove: list[Path] = []
        self.originals: dict[str, str] = {}
        self.locks: list[socket.socket] = []

    def take(self, order: dict[str, Any]) -> None:
        self.remove += [Path(path) for path in order.get("remove", [])]
        if "set" in order:
            path = str(order["set"])
            if path not in self.originals:
                self.locks.append(_lock(path))
                self.originals[path] = Path(path).read_text()
            Path(path).write_text(str(order["value"]))

    def clean(self) -> None:
        for setting, value in self.originals.items():
            Path(setting).write_text(value)
        self.originals.clear()
        destroy_groups([path for path in self.remove if (path / "cgroup.procs").exists()])
        for path in self.remove:
            shutil.rmtree(path, ignore_errors=True)
        for lock in self.locks:
            lock.close()


def _lock(name: str) -> socket.socket:
    """A lock that ends with its process and leaves no file: a name in the abstract socket namespace."""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            lock.bind(f"\0culprit-lab{name}")
            return lock
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _serve(orders: TextIO, max_s: float) -> None:
    pending = _PendingCleanup()
    end = time.monotonic() + max_s
    try:
        while select.select([orders], [], [], max(0.0, end - time.monotonic()))[0]:
            line = orders.readline()
            if not line:
                break
            try:
                pending.take(json.loads(line))
                answer = "ok"
            except (OSError, ValueError) as error:
                answer = str(error)
            with contextlib.suppress(BrokenPipeError):
                print(answer, flush=True)
    finally:
        pending.clean()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _serve(sys.stdin, float(sys.argv[1]))

"""A real platform: `./culprit up` in this checkout over a fresh data directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from culprit.launcher.install import requirements
from culprit.launcher.paths import ROOT
from culprit.launcher.supervision import process_guardian
from culprit.launcher.supervision.child_processes import is_alive as is_running

READY_S = 240


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of this shell, without settings of another platform."""
    foreign = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "S3_")
    stored = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return stored | {"CULPRIT_HOME": str(home), **more}


class Up:
    """A running `./culprit up`."""

    def __init__(self, home: Path, *options: str, root: Path = ROOT, **env: str) -> None:
        self.home = home
        self.env = environment(home, **env)
        # Not in the checkout, because the test checks what `up` leaves there.
        self.log = (root if home.is_relative_to(root) else home).with_suffix(".log")
        port = requirements.find_free_port("127.0.0.1", 0)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [root / "culprit", "up", "--listen", f"127.0.0.1:{port}", *options],
                env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def read_log(self) -> str:
        """Return its output."""
        return self.log.read_text()

    def wait_ready(self) -> dict[str, object]:
        """Return its announcement once it is ready."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.read_log()
            try:
                running = json.loads((self.home / "running.json").read_text())
            except (OSError, json.JSONDecodeError):
                running = {}
            if running.get("ready"):
                return dict(running)
            time.sleep(0.1)
        raise AssertionError(self.read_log())

    def below(self) -> set[int]:
        """Return all its processes."""
        return {self.process.pid, *process_guardian.list_descendants(self.process.pid)}


@contextmanager
def home_directory() -> Iterator[Path]:
    """Create a directory with a short name; delete it at the end, with all that `up` created elsewhere."""
    home = Path(tempfile.mkdtemp(prefix="culprit-up-")) / "home"
    try:
        yield home
    finally:
        subprocess.run([ROOT / "culprit", "down", "--purge"], env=environment(home), check=False)
        shutil.rmtree(home.parent, ignore_errors=True)


def gone(pids: set[int], within_s: float = 30.0) -> list[str]:
    """Return which of these processes remain."""
    deadline = time.monotonic() + within_s
    while living := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in living]
        time.sleep(0.1)
    return []

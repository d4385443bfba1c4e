"""A real platform: `./culprit up` in this checkout, over a fresh data directory."""

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

from culprit.launch import machine, warden
from culprit.launch.children import alive as is_running
from culprit.launch.paths import ROOT

READY_S = 240


def environment(home: Path, **more: str) -> dict[str, str]:
    """This shell's, without settings of another platform."""
    foreign = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "S3_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {"CULPRIT_HOME": str(home), **more}


class Up:
    """A running `./culprit up`."""

    def __init__(self, home: Path, *options: str, root: Path = ROOT, **env: str) -> None:
        self.home = home
        self.env = environment(home, **env)
        # Beside a checkout, not in it: what `up` leaves in one is looked at.
        self.log = (root if home.is_relative_to(root) else home).with_suffix(".log")
        port = machine.free_port("127.0.0.1", 0)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [root / "culprit", "up", "--listen", f"127.0.0.1:{port}", *options],
                env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def said(self) -> str:
        """All that it printed."""
        return self.log.read_text()

    def wait_ready(self) -> dict[str, object]:
        """What it says about itself once it is ready."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.said()
            try:
                running = json.loads((self.home / "running.json").read_text())
            except (OSError, json.JSONDecodeError):
                running = {}
            if running.get("ready"):
                return dict(running)
            time.sleep(0.1)
        raise AssertionError(self.said())

    def below(self) -> set[int]:
        """Every process of it."""
        return {self.process.pid, *warden.descendants(self.process.pid)}


@contextmanager
def home_directory() -> Iterator[Path]:
    """A fresh one with a short name; what `up` may have put elsewhere goes with it."""
    home = Path(tempfile.mkdtemp(prefix="culprit-up-")) / "home"
    try:
        yield home
    finally:
        subprocess.run([ROOT / "culprit", "down", "--purge"], env=environment(home), check=False)
        shutil.rmtree(home.parent, ignore_errors=True)


def gone(pids: set[int], within_s: float = 30.0) -> list[str]:
    """What is left of these processes."""
    deadline = time.monotonic() + within_s
    while living := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in living]
        time.sleep(0.1)
    return []

"""`./culprit up` for real, in this checkout and over a fresh data directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from culprit.launch import machine, warden
from culprit.launch.children import alive as is_running
from culprit.launch.engines import Postgres, Valkey
from culprit.launch.paths import DIST, ROOT

pytestmark = pytest.mark.long(50)

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


def get(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.status, answer.read().decode()


def test_up_serves_enrols_and_leaves_nothing() -> None:
    with home_directory() as home:
        timings = home.parent / "timings.json"
        up = Up(home, "--timings", str(timings))
        try:
            running = up.wait_ready()
            url = str(running["url"])
            assert get(f"{url}/readyz")[0] == 200
            if (DIST / "index.html").exists():
                assert "<!doctype html" in get(url)[1].lower()
            said = up.said()
            assert re.search(r"Will use .* MB free\), and about \d+ MB of memory", said)
            assert "Starting PostgreSQL and Valkey …" in said
            assert f"Culprit is ready at {url}" in said
            link = re.search(rf"First login \(once, as admin\):  ({re.escape(url)}\S+)", said)
            assert link
            assert "enrolled as the first host" in said
            cli = home / "cli.json"
            assert cli.stat().st_mode & 0o777 == 0o600
            token = json.loads(cli.read_text())["token"]
            asked = urllib.request.Request(
                f"{url}/api/v1/hosts", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(asked, timeout=20) as answer:
                hosts = json.load(answer)["items"]
            assert [host["address"] for host in hosts] == ["127.0.0.1"]
            second = subprocess.run(
                [ROOT / "culprit", "up"], env=up.env, capture_output=True, text=True, check=False
            )
            assert second.returncode == 2
            assert second.stderr == f"culprit: Culprit is running already at {url}; ./culprit down stops it\n"
            assert subprocess.run([ROOT / "culprit", "status"], env=up.env, check=False).returncode == 0
            figures = json.loads(timings.read_text())
            assert {"engines", "migrations", "services"} <= set(figures["phases"])
            assert figures["total"] > 0
            below = up.below()
            assert len(below) > 10
            assert (
                subprocess.run([ROOT / "culprit", "down", "--purge"], env=up.env, check=False).returncode == 0
            )
            assert gone(below) == []
            assert up.process.wait(10) == 0
            assert not home.exists()
        finally:
            up.process.kill()
            up.process.wait()


def test_up_uses_given_engines_and_survives_no_kill() -> None:
    """No engine of its own is started; killed, it leaves nothing but the engines it was given."""
    with home_directory() as home, ExitStack() as engines:
        postgres = engines.enter_context(Postgres(home.parent / "pg", durable=False))
        valkey = engines.enter_context(Valkey(home.parent / "kv"))
        up = Up(home, "--no-host", DATABASE_URL=postgres.url, REDIS_URL=valkey.url)
        try:
            processes = up.wait_ready()["processes"]
            assert isinstance(processes, dict)
            assert set(processes) == {"api", "worker-ssh", "worker-parse", "scheduler"}
            assert not (home / "postgres").exists()
            assert not (home / "valkey").exists()
            below = up.below()
            os.kill(up.process.pid, signal.SIGKILL)
            assert gone(below) == []
            assert postgres.pid
            assert valkey.pid
        finally:
            up.process.kill()
            up.process.wait()


@pytest.mark.slow
def test_up_from_a_fresh_clone() -> None:
    """A clone in another folder installs all of it and starts; nothing outside it is needed."""
    with home_directory() as home:
        clone = home.parent / "clone"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
        timings = home.parent / "timings.json"
        up = Up(clone / ".culprit", "--timings", str(timings), root=clone)
        try:
            running = up.wait_ready()
            assert "<!doctype html" in get(str(running["url"]))[1].lower()
            below = up.below()
            os.killpg(up.process.pid, signal.SIGINT)
            assert gone(below) == []
            assert up.process.wait(10) == 0
            print(timings.read_text())
            status = subprocess.run(
                ["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True
            )
            assert status.stdout == ""
        finally:
            up.process.kill()
            up.process.wait()
            subprocess.run([clone / "culprit", "down", "--purge"], env=up.env, check=False)

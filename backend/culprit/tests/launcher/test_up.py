"""`./culprit up` in this checkout over a fresh data directory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.request
from contextlib import ExitStack

import pytest
from culprit.launcher.engines import Postgres, Valkey
from culprit.launcher.install import requirements
from culprit.launcher.paths import DIST, ROOT
from culprit.tests.support.platform_up import Up, gone, home_directory

pytestmark = pytest.mark.long(50)


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
            message = up.read_log()
            assert re.search(r"Will use .* MB free\), and about \d+ MB of memory", message)
            assert "Starting PostgreSQL and Valkey …" in message
            assert f"Culprit is ready at {url}" in message
            link = re.search(rf"First login \(once, as admin\):  ({re.escape(url)}\S+)", message)
            assert link
            assert "added as the first host" in message
            cli = home / "cli.json"
            assert cli.stat().st_mode & 0o777 == 0o600
            token = json.loads(cli.read_text())["token"]
            request = urllib.request.Request(
                f"{url}/api/v1/hosts", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(request, timeout=20) as answer:
                hosts = json.load(answer)["items"]
            assert [host["address"] for host in hosts] == ["127.0.0.1"]
            second = subprocess.run(
                [ROOT / "culprit", "up"], env=up.env, capture_output=True, text=True, check=False
            )
            assert second.returncode == 2
            assert (
                second.stderr
                == f"culprit: Culprit is already running at {url}. Stop it with ./culprit down\n"
            )
            status = subprocess.run(
                [ROOT / "culprit", "status", "--json"], env=up.env, capture_output=True, check=True
            )
            used_mb = sum(part["memory_bytes"] for part in json.loads(status.stdout)["parts"]) >> 20
            assert 300 < used_mb <= requirements.MEMORY_MB, (
                "`up` reports another amount of memory than it uses"
            )
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


@pytest.mark.slow
def test_up_uses_configured_engines() -> None:
    """No engine is started; a killed platform leaves only the external engines."""
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
    """A clone in another folder installs everything and starts; nothing outside it is needed."""
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

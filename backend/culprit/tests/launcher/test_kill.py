"""`kill -9` of each process of a real platform: other parts keep running, and the process restarts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from culprit.json_types import Json
from culprit.launcher.paths import ROOT
from culprit.launcher.supervision import process_guardian
from culprit.launcher.supervision.child_processes import is_alive as is_running
from culprit.tests.support.platform_up import Up, gone, home_directory

pytestmark = pytest.mark.long(60)

NOTICED_S = 5.0
BACK_S = 45.0  # the API imports for some seconds, longer on a loaded machine
RERUN_S = 150.0  # a lease, a pause, and a second capture


class Platform:
    """A running platform with its API."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.up = Up(home, *options)
        running = self.up.wait_ready()
        self.url = str(running["url"])
        self.token = json.loads((home / "cli.json").read_text())["token"]
        self.supervisor = running["supervisor"]

    def running(self) -> Json:
        return dict(json.loads((self.home / "running.json").read_text()))

    def pid(self, name: str) -> int:
        return int(self.running()["processes"][name]["pid"])

    def call(self, path: str, body: Json | None = None, timeout_s: float = 30) -> tuple[int, Json]:
        """Return (status, body) of an answer; status 0 without an answer."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, {}

    def wait(self, what: str, is_so: Callable[[], bool], within_s: float) -> float:
        """Wait until a condition holds; return the seconds."""
        began = time.monotonic()
        while not is_so():
            assert self.up.process.poll() is None, self.up.read_log()
            assert time.monotonic() - began < within_s, (what, self.call("/readyz"), self.up.read_log())
            time.sleep(0.1)
        return time.monotonic() - began

    def part(self, name: str) -> Json:
        return dict(self.call("/readyz")[1].get("parts", {}).get(name, {}))

    def is_back(self, name: str, restarts: int = 1) -> bool:
        part = self.part(name)
        return part.get("state") == "ok" and part["restarts"] >= restarts

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "culprit", *arguments], env=self.up.env, capture_output=True, text=True, check=False
        )

    def start_capture(self, seconds: int) -> str:
        """Start a capture of this machine; return the ID of its running run."""
        host = self.call("/api/v1/hosts")[1]["items"][0]["id"]
        body = {"host_ids": [host], "plan": "triage", "seconds": seconds}
        status, capture = self.call("/api/v1/captures", body)
        assert status == 201, capture
        run_id = str(capture["runs"][0]["id"])
        self.wait("the run to start", lambda: self.run_state(run_id) == "running", 60)
        return run_id

    def run_state(self, run_id: str) -> str:
        return str(self.call(f"/api/v1/runs/{run_id}")[1].get("state"))


@pytest.fixture
def platform() -> Iterator[Platform]:
    with home_directory() as home:
        platform = Platform(home)
        below = platform.up.below()
        try:
            yield platform
            below |= platform.up.below()
            assert platform.running()["supervisor"] == platform.supervisor
            assert platform.command("down", "--purge").returncode == 0
            assert gone(below) == []
            assert not home.exists()
        finally:
            platform.up.process.kill()
            platform.up.process.wait()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_each_killed_process_comes_back_and_nothing_else_ends(platform: Platform) -> None:
    before = platform.running()["processes"]
    background = ("worker-ssh", "worker-parse", "scheduler", "sshd")
    for name in background:
        kill(platform.pid(name))
        platform.wait(
            f"{name} to be missed", lambda name=name: platform.part(name)["state"] != "ok", NOTICED_S
        )
        status, ready = platform.call("/readyz")
        assert (status, ready["state"]) == (200, "degraded")
        assert ready["parts"][name]["signal"] == "SIGKILL"
    table = platform.command("status")
    assert table.returncode == 1 and "killed by SIGKILL" in table.stdout
    for name in background:
        platform.wait(f"{name} to be back", lambda name=name: platform.is_back(name), BACK_S)

    kill(platform.pid("valkey"))
    platform.wait(
        "the broker to be missed", lambda: platform.call("/readyz")[1]["state"] == "degraded", NOTICED_S
    )
    assert platform.call("/api/v1/hosts")[0] == 200
    platform.wait("valkey to be back", lambda: platform.is_back("valkey"), BACK_S)

    os.kill(platform.supervisor["pid"], signal.SIGSTOP)  # while PostgreSQL is stopped
    kill(platform.pid("postgresql"))
    platform.wait("the database to be missed", lambda: platform.call("/readyz")[0] == 503, NOTICED_S)
    status, answer = platform.call("/api/v1/hosts")
    assert (status, answer["key"]) == (503, "platform.database_away")
    os.kill(platform.supervisor["pid"], signal.SIGCONT)
    platform.wait("postgresql to be back", lambda: platform.is_back("postgresql"), BACK_S)

    kill(platform.pid("api"))
    platform.wait("the API to be missed", lambda: platform.call("/readyz")[0] == 0, NOTICED_S)
    platform.wait("the API to be back", lambda: platform.is_back("api"), BACK_S)

    platform.wait("all to be ready", lambda: platform.call("/readyz")[1]["state"] == "ready", BACK_S)
    assert platform.call("/api/v1/hosts")[0] == 200
    after = platform.running()["processes"]
    assert set(after) == set(before)
    assert all(after[name]["pid"] != before[name]["pid"] for name in before)
    reported = json.loads(platform.command("status", "--json").stdout)
    assert {row["part"]: row["restarts"] for row in reported["parts"]} == dict.fromkeys(before, 1) | {
        "supervisor": 0
    }


def find_below(pid: int, marker: str) -> list[int]:
    """Return the processes below `pid` whose command line contains `marker`."""
    results = []
    for child in process_guardian.list_descendants(pid):
        try:
            line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if marker in line:
            results.append(child)
    return sorted(results)


def kill_session(platform: Platform) -> None:
    """Kill the child of the fork server that runs the SSH session."""
    server = find_below(platform.pid("worker-ssh"), "culprit.infra.sandbox.fork_server")[0]
    kill(process_guardian.list_descendants(server)[0])


def kill_fork_server(platform: Platform) -> None:
    kill(find_below(platform.pid("worker-ssh"), "culprit.infra.sandbox.fork_server")[0])


def kill_pool_children(platform: Platform) -> None:
    for pid in find_below(platform.pid("worker-parse"), "culprit.server.worker"):
        kill(pid)


def kill_database_session(platform: Platform) -> None:
    kill(find_below(platform.pid("postgresql"), "culprit culprit")[0])


def part_killer(name: str) -> Callable[[Platform], None]:
    return lambda platform: kill(platform.pid(name))


STRIKES: dict[str, Callable[[Platform], None]] = {
    "session": kill_session,
    "fork server": kill_fork_server,
    "pool children": kill_pool_children,
    "database session": kill_database_session,
    **{
        name: part_killer(name)
        for name in ("postgresql", "valkey", "api", "sshd", "scheduler", "worker-parse")
    },
    "worker-ssh": part_killer("worker-ssh"),
}


@pytest.mark.slow
def test_a_capture_survives_the_kill_of_any_process(platform: Platform) -> None:
    for name, strike in STRIKES.items():
        run_id = platform.start_capture(5)
        time.sleep(2)
        strike(platform)
        took = platform.wait(
            f"the run to be whole after the kill of {name}",
            lambda run_id=run_id: platform.run_state(run_id) in {"done", "partial"},
            RERUN_S,
        )
        print(f"{name}: the run was whole {took:.0f} s later")
    platform.wait("all to be ready", lambda: platform.call("/readyz")[1]["state"] == "ready", BACK_S)


@pytest.mark.slow
def test_supervisor_stops_restarting_parts_that_cannot_start(platform: Platform) -> None:
    """The private sshd with a broken configuration, and Valkey without a directory for its data."""
    config = platform.home / "sshd" / "sshd_config"
    whole = config.read_text()
    config.write_text("Port nowhere\n")
    shutil.rmtree(platform.home / "valkey")
    (platform.home / "valkey").write_text("in the way")
    for name in ("sshd", "valkey"):
        kill(platform.pid(name))
    for name in ("sshd", "valkey"):
        platform.wait(
            f"{name} to be given up", lambda name=name: platform.part(name)["state"] == "failed", 90
        )
    assert is_running(platform.supervisor["pid"])
    status, ready = platform.call("/readyz")
    assert (status, ready["state"], ready["checks"]["broker"]) == (200, "degraded", "away")
    displayed = platform.command("status")
    assert displayed.returncode == 1
    assert "sshd is failed since" in displayed.stdout and "Badly formatted port" in displayed.stdout
    assert "valkey is failed since" in displayed.stdout and "cannot be started" in displayed.stdout

    config.write_text(whole)
    assert platform.command("retry").returncode == 0
    platform.wait("sshd to be back", lambda: platform.is_back("sshd"), BACK_S)
    run_id = platform.start_capture(3)  # found by the poll of the database: there is no broker
    platform.wait("the output of the run", lambda: platform.run_state(run_id) == "ingesting", 90)

    (platform.home / "valkey").unlink()
    (platform.home / "valkey").mkdir(mode=0o700)
    assert platform.command("retry").returncode == 0
    platform.wait("valkey to be back", lambda: platform.is_back("valkey"), BACK_S)
    platform.wait("the run to be read", lambda: platform.run_state(run_id) == "done", 90)


@pytest.mark.slow
def test_a_broker_whose_file_cannot_be_read_starts_empty(platform: Platform) -> None:
    for file in (platform.home / "valkey" / "appendonlydir").iterdir():
        file.write_text("no append-only file")
    kill(platform.pid("valkey"))
    platform.wait("valkey to be back", lambda: platform.is_back("valkey", 3), 60)
    assert (platform.home / "valkey" / "appendonlydir.unreadable").is_dir()

"""`./culprit doctor` before a platform runs, over a real one, and after its parts are broken."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from culprit.launcher import state
from culprit.launcher.doctor import command, installation_checks, running_checks
from culprit.launcher.install import locked_packages, native_reader
from culprit.launcher.paths import ROOT, Home
from culprit.tests.support.platform_up import Up, environment, home_directory

pytestmark = pytest.mark.long(60)
Check = dict[str, str]


def examine(env: Mapping[str, str]) -> tuple[int, dict[str, Check]]:
    """Return the exit code and the checks by name."""
    command = [ROOT / "culprit", "doctor", "--json"]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, timeout=180)
    document = json.loads(done.stdout)
    assert document["healthy"] is (done.returncode == 0)
    for item in document["checks"]:
        assert bool(item["command"]) is (item["state"] != "ok"), item
    return done.returncode, {item["check"]: item for item in document["checks"]}


def await_state(env: Mapping[str, str], check: str, expected: str, within_s: float = 60) -> dict[str, Check]:
    """Repeat until a check has the expected state; return all checks."""
    deadline = time.monotonic() + within_s
    while True:
        _, checks = examine(env)
        if checks.get(check, {}).get("state") == expected:
            return checks
        assert time.monotonic() < deadline, checks
        time.sleep(1)


def test_before_the_first_start_the_command_is_up() -> None:
    with home_directory() as home:
        code, checks = examine(environment(home))
        assert code == 0
        assert checks["data directory"]["command"] == checks["platform"]["command"] == "./culprit up"
        assert checks["python"]["state"] == checks["packages"]["state"] == checks["machine"]["state"] == "ok"
        assert not home.exists()  # a check changes nothing


def test_a_running_platform_is_checked_and_each_broken_part_is_named() -> None:
    with home_directory() as home:
        up = Up(home, "--no-host")
        try:
            running = up.wait_ready()
            checks = await_state(up.env, "scheduler", "ok")
            assert [item for item in checks.values() if item["state"] == "problem"] == []
            parts = ("api", "postgresql", "valkey", "scheduler", "worker-ssh", "worker-parse")
            assert all(checks[f"part {name}"]["state"] == "ok" for name in parts)
            assert checks["port"]["message"] == f"The API listens on port {running['port']}."
            assert "Valkey" in checks["queue"]["message"]
            assert "written" in checks["artifact store"]["message"]

            (home / "secret.key").chmod(0o644)
            (home / "cli.json").chmod(0o644)
            code, checks = examine(up.env)
            assert code == 1
            assert (
                checks["private files"]["command"] == f"chmod 600 {home / 'secret.key'} {home / 'cli.json'}"
            )
            assert checks["secret key"]["command"] == f"chmod 600 {home / 'secret.key'}"
            for name in ("secret.key", "cli.json"):
                (home / name).chmod(0o600)

            subprocess.run([ROOT / "culprit", "worker", "stop"], env=up.env, check=False)
            checks = await_state(up.env, "part worker-ssh", "warning")
            assert checks["part worker-ssh"]["command"] == "./culprit worker start"
            text = subprocess.run([ROOT / "culprit", "doctor"], env=up.env, capture_output=True, text=True)
            assert "→ ./culprit worker start" in text.stdout
            assert json.loads((home / "cli.json").read_text())["token"] not in text.stdout
            assert (home / "secret.key").read_text().strip() not in text.stdout

            os.killpg(up.process.pid, signal.SIGINT)
            assert up.process.wait(60) == 0
            code, checks = examine(up.env)
            assert code == 0
            assert checks["platform"]["message"] == "Culprit is not running here."
            assert "database" not in checks and checks["artifact store"]["state"] == "ok"

            (home / "secret.key").unlink()
            code, checks = examine(up.env)
            assert code == 1
            assert "cannot be opened" in checks["private files"]["message"]
            assert checks["secret key"]["state"] == "problem"
        finally:
            up.process.kill()
            up.process.wait()


def test_another_program_on_the_port_is_named() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        comm = Path("/proc/self/comm").read_text().strip()
        assert running_checks.find_listener(port) == f"{comm} (process {os.getpid()})"
        result = running_checks.check_free_port(port)
        assert result.state == "warning" and str(os.getpid()) in result.message
        assert result.command == f"./culprit up --listen 127.0.0.1:{port + 1}"
        known = {"url": "https://culprit.example.org", "port": port, "processes": {"api": {"pid": 1}}}
        assert running_checks.check_served_port(known).state == "problem"
        known["processes"] = {"api": {"pid": os.getpid()}}
        assert running_checks.check_served_port(known).state == "ok"
    assert running_checks.check_free_port(port).state == "ok"
    assert running_checks.check_served_port(known).command == "./culprit retry"


def test_parts_that_failed_and_remains_of_an_earlier_platform(tmp_path: Path) -> None:
    home = Home(tmp_path)
    failed = {"state": "failed", "reason": "ended with exit code 1"}
    again = {"state": "ok", "restarts": 2, "reason": "SIGKILL"}
    processes = {"scheduler": state.describe_process(os.getpid())}
    parts = {"worker-ssh": failed, "scheduler": again, "api": {"state": "ok"}}
    known = {"parts": parts, "processes": processes, "supervisor": state.describe_process(os.getpid())}
    results = {item.check: item for item in running_checks.check_parts(home, known)}
    assert (
        results["part worker-ssh"].state == "problem" and "exit code 1" in results["part worker-ssh"].message
    )
    assert results["part scheduler"].state == "warning" and "2 restarts" in results["part scheduler"].message
    assert results["part api"].state == "problem" and "is restarting" in results["part api"].message
    state.write_state(home, known | {"supervisor": {"pid": 1, "started": 1}})
    (remains,) = running_checks.check_remains(home)
    assert remains.command == "./culprit down" and "scheduler" in remains.message


def test_installation_that_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_packages, "STAMP", tmp_path / "none")
    assert installation_checks.check_packages({}).command == "./culprit up"
    monkeypatch.setattr(locked_packages, "DIST_STAMP", tmp_path / "none")
    assert "missing or old" in installation_checks.check_build().message
    monkeypatch.setattr(native_reader, "STAMP", tmp_path / "none")
    without_cargo = {"PATH": str(tmp_path)}
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "apt-get install cargo-web" in str(installation_checks.check_native_reader(without_cargo).command)
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert "does not run" in installation_checks.check_python(broken).message
    broken.write_text("#!/bin/sh\necho Python 3.9.1\n")
    result = installation_checks.check_python(broken)
    assert result.state == "problem" and "3.9 is not supported" in result.message


def test_team_installation_is_checked_by_its_environment() -> None:
    with home_directory() as home:
        home.mkdir(parents=True, mode=0o700)
        env = environment(home) | {
            "DATABASE_URL": "postgresql://ops:canary-of-a-password@127.0.0.1:1/culprit",
            "REDIS_URL": "redis://:canary-of-a-password@127.0.0.1:1/0",
        }
        code, checks = examine(env)
        assert code == 1
        assert checks["database"]["state"] == checks["queue"]["state"] == "problem"
        assert "platform" not in checks  # other machines may run the processes
        assert "canary-of-a-password" not in json.dumps(checks)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_data_directory_below_a_closed_directory(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    os.seteuid(65534)
    try:
        (result,) = command.list_results({"CULPRIT_HOME": str(closed / "home")})
    finally:
        os.seteuid(0)
    assert result.state == "problem" and "65534 cannot open" in result.message
    assert result.command == f"ls -ld {closed}"

"""No process remains after the death of the guardian, the supervisor, both, or a service."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from culprit.launcher.paths import build_python_path
from culprit.launcher.services import is_listening
from culprit.launcher.supervision import process_guardian

pytestmark = pytest.mark.long(20)

# A platform of three services. `nest` has a child that left its session and a grandchild that was orphaned,
# as login sessions and pool processes do; `deaf` ignores SIGTERM; `plain` does neither.
PLATFORM = """
import json, os, signal, sys
from pathlib import Path
from culprit.launcher import services
from culprit.launcher.supervision import parts
from culprit.launcher.supervision import process_guardian
from culprit.launcher.services import ServiceProcess
from culprit.launcher.supervision.supervisor import ServiceDiedError, StopRequestedError, Supervisor

parts.FIRST_PAUSE_S = 0.02
services.START_GRACE_S = 0.2

home = Path(sys.argv[1])
NEST = "(setsid sleep 987654 & setsid sh -c 'sleep 987655 & sleep 987656' &); exec sleep 987657"
DEAF = "trap '' TERM; while :; do sleep 1; done"
TABLE = (
    ServiceProcess("plain", ("sleep", "987658")),
    ServiceProcess("nest-a", ("sh", "-c", NEST)),
    ServiceProcess("deaf", ("sh", "-c", DEAF), stop=((signal.SIGTERM, 0.3),), death_signal=signal.SIGKILL),
)

def record(part, change):
    with (home / "changes").open("a") as file:
        file.write(json.dumps([part.name, change, part.as_json()]) + "\\n")

def supervise():
    supervisor = Supervisor(home, os.environ, frozenset({"plain"}), record)
    supervisor.listen_to_signals()
    code = 1
    try:
        for service in TABLE:
            supervisor.start(service)
        document = {"supervisor": os.getpid(), "guardian": os.getppid(), "services": supervisor.pids()}
        (home / "new").write_text(json.dumps(document))
        (home / "new").rename(home / "running")
        supervisor.watch_parts(("plain",))
    except StopRequestedError:
        code = 0
    except ServiceDiedError as error:
        print(error, flush=True)
    finally:
        supervisor.stop_all(["nest"])
    print("ended", flush=True)
    return code

sys.exit(process_guardian.run_guarded(supervise))
"""


class Platform:
    """A running platform, and every process that was ever below it."""

    def __init__(self, home: Path) -> None:
        env = dict(os.environ) | {"PYTHONPATH": build_python_path()}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLATFORM, str(home)],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while not (home / "running").exists():
            assert time.monotonic() < deadline
            assert self.process.poll() is None, self.process.stdout and self.process.stdout.read()
            time.sleep(0.02)
        self.facts = json.loads((home / "running").read_text())
        while len(self.seen()) < 9:  # 5 sleeps, 2 shells, the sleep of `deaf`, the supervisor
            assert time.monotonic() < deadline, self.seen()
            time.sleep(0.02)
        self.ever = {self.process.pid, *self.seen()}

    def seen(self) -> list[int]:
        """Return all processes below the guardian now."""
        return process_guardian.list_descendants(self.process.pid)

    def left(self, within_s: float = 20.0) -> list[str]:
        """Return the processes that remain after some seconds."""
        deadline = time.monotonic() + within_s
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0)
            living = [pid for pid in self.ever if is_running(pid)]
            if not living or time.monotonic() > deadline:
                return [Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in living]
            time.sleep(0.05)

    def output(self) -> str:
        """Return its output after it has ended."""
        return self.process.communicate(timeout=20)[0].decode()


def is_running(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    platform = Platform(tmp_path)
    yield platform
    for pid in platform.ever:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    platform.process.communicate()


def term_warden(platform: Platform) -> None:
    platform.process.terminate()


def interrupt_group(platform: Platform) -> None:
    os.killpg(platform.process.pid, signal.SIGINT)  # like Ctrl-C in a terminal


def kill_service(platform: Platform) -> None:
    os.kill(platform.facts["services"]["nest-a"], signal.SIGKILL)


def kill_supervisor(platform: Platform) -> None:
    os.kill(platform.facts["supervisor"], signal.SIGKILL)


def kill_warden(platform: Platform) -> None:
    platform.process.kill()


CODES: list[tuple[Callable[[Platform], None], int]] = [
    (term_warden, 0),
    (interrupt_group, 0),
    (kill_supervisor, 128 + 9),
    (kill_warden, -9),
]


@pytest.mark.parametrize(("strike", "code"), CODES, ids=[strike.__name__ for strike, _ in CODES])
def test_nothing_is_left(platform: Platform, strike: Callable[[Platform], None], code: int) -> None:
    strike(platform)
    assert platform.left() == []
    assert platform.process.wait(5) == code


def test_both_killed_at_once_takes_direct_children_along(platform: Platform) -> None:
    direct = set(platform.facts["services"].values())
    os.kill(platform.facts["supervisor"], signal.SIGSTOP)  # it cannot react to the death of the guardian
    platform.process.kill()
    os.kill(platform.facts["supervisor"], signal.SIGKILL)
    platform.ever = direct | {platform.process.pid, platform.facts["supervisor"]}
    assert platform.left() == []


def wait_for_change(home: Path, name: str, change: str, count: int = 1) -> dict[str, Any]:
    """Return the part as recorded at the `count`-th such change."""
    deadline = time.monotonic() + 20
    while True:
        lines = (home / "changes").read_text().splitlines() if (home / "changes").exists() else []
        results = [noted for part, what, noted in map(json.loads, lines) if (part, what) == (name, change)]
        if len(results) >= count:
            return dict(results[count - 1])
        assert time.monotonic() < deadline, lines
        time.sleep(0.02)


def find_pid(platform: Platform, marker: str) -> int:
    """Return the process whose last argument is `marker`."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for pid in platform.seen():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().endswith(f"\0{marker}\0".encode()):
                    platform.ever.add(pid)
                    return pid
        time.sleep(0.02)
    raise AssertionError(marker)


def test_a_killed_service_is_restarted_and_the_rest_goes_on(platform: Platform, tmp_path: Path) -> None:
    others = {platform.facts["services"]["deaf"], platform.facts["services"]["plain"]}
    kill_service(platform)
    ended = wait_for_change(tmp_path, "nest-a", "ended")
    assert (ended["state"], ended["signal"], ended["restarts"]) == ("restarting", "SIGKILL", 0)
    back = wait_for_change(tmp_path, "nest-a", "recovered")
    assert (back["state"], back["restarts"]) == ("ok", 1)
    platform.ever |= set(platform.seen())
    assert all(is_running(pid) for pid in others)
    platform.process.terminate()
    assert platform.left() == []
    assert platform.process.wait(5) == 0


def test_supervisor_disables_failing_part_and_starts_it_on_request(
    platform: Platform, tmp_path: Path
) -> None:
    for times in range(1, 7):
        os.kill(find_pid(platform, "987657"), signal.SIGKILL)
        wait_for_change(tmp_path, "nest-a", "ended" if times < 6 else "given_up", times if times < 6 else 1)
    assert wait_for_change(tmp_path, "nest-a", "given_up")["state"] == "failed"
    assert is_running(platform.facts["supervisor"])
    os.kill(platform.facts["supervisor"], signal.SIGRTMIN)
    find_pid(platform, "987657")
    platform.ever |= set(platform.seen())
    platform.process.terminate()
    assert platform.left() == []


def test_disabled_essential_part_stops_platform(platform: Platform) -> None:
    for _ in range(6):
        pid = find_pid(platform, "987658")
        os.kill(pid, signal.SIGTERM)
        while is_running(pid):
            time.sleep(0.01)
    assert platform.left() == []
    assert platform.process.wait(5) == 1
    assert "plain ended 6 times (killed by SIGTERM)" in platform.output()


def test_a_second_interrupt_does_not_disturb_the_stop(platform: Platform) -> None:
    for _ in range(3):
        interrupt_group(platform)
        time.sleep(0.05)
    assert platform.left() == []
    assert "ended" in platform.output()


def test_services_are_stopped_and_started_on_request(platform: Platform) -> None:
    plain = platform.facts["services"]["plain"]
    os.kill(platform.facts["supervisor"], signal.SIGUSR1)
    deadline = time.monotonic() + 10
    while is_running(plain):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(platform.facts["supervisor"], signal.SIGUSR2)
    while not (new := [pid for pid in platform.seen() if pid not in platform.ever]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    platform.ever |= set(new)
    platform.process.terminate()
    assert platform.left() == []
    assert platform.process.wait(5) == 0


def test_another_server_on_the_port_is_not_taken_for_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_listening(os.getpid(), port)
        other = subprocess.Popen(["sleep", "100"], start_new_session=True)
        try:
            assert not is_listening(other.pid, port)
        finally:
            other.kill()
            other.wait()
    assert not is_listening(os.getpid(), port)

"""Every fault slows requests down, no healthy scenario does, and none leaves anything behind.

Needs root, and several minutes for all: pytest lab/tests. The quick ones run without --full too.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.cgroups import list_hierarchies
from lab.environment import LabEnvironment
from lab.faults import list_missing_programs, load_scenarios
from lab.scenario import Scenario
from lab.tests.proofs import PROOFS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

QUICK = ("idle", "listen-overflow", "conntrack-full")
TABLE = Path("/proc/sys/net/netfilter/nf_conntrack_max")
CASES = [
    pytest.param(scenario, id=scenario.id, marks=() if scenario.id in QUICK else pytest.mark.slow)
    for scenario in load_scenarios().values()
]


@pytest.fixture
def environment() -> Iterator[LabEnvironment]:
    """A environment; afterwards, nothing of it is left."""
    rules = _rules()
    with LabEnvironment(max_s=120) as opened:
        yield opened
        processes = _processes(opened)
    assert _all_end(processes)
    assert not _groups(opened.name)
    assert not opened.directory.exists()
    assert str(opened.directory) not in Path("/proc/self/mounts").read_text()
    assert not _loop_devices(opened)
    assert _rules() == rules


def _rules() -> int:
    """Firewall rules of the machine's own namespace."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False).stdout
    return rules.count("\n-A")


def _loop_devices(environment: LabEnvironment) -> list[str]:
    listed = subprocess.run(["losetup", "-l", "-n"], capture_output=True, text=True, check=False).stdout
    return [line for line in listed.splitlines() if str(environment.directory) in line]


def _processes(environment: LabEnvironment) -> set[tuple[int, str]]:
    """Pid and start time: a PID alone may be reused a moment later."""
    pids = environment.system.pids() | environment.app.pids() | environment.clients.pids()
    return {(pid, started) for pid in pids if (started := _started(pid))}


def _all_end(processes: set[tuple[int, str]]) -> bool:
    """Orphans are collected by the machine's first process, which takes its time while it is busy."""
    end = time.monotonic() + 10
    while left := {(pid, started) for pid, started in processes if _started(pid) == started}:
        if time.monotonic() > end:
            return False
        processes = left
        time.sleep(0.05)
    return True


def _started(pid: int) -> str:
    """When the process began; nothing when there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def _groups(name: str) -> list[Path]:
    return [group for root in set(list_hierarchies().values()) for group in root.glob(f"lab/{name}*")]


def _hurt(healthy: dict[str, float], unhealthy: dict[str, float]) -> bool:
    """Requests fail, or those that succeed take several times as long."""

    def lost(stats: dict[str, float]) -> float:
        return 1 - stats["ok"] / stats["requests"] if stats["requests"] else 1.0

    slow = unhealthy["p99_ms"] > max(5 * healthy["p99_ms"], 50) or unhealthy["p50_ms"] > 2 * healthy["p50_ms"]
    return lost(unhealthy) > lost(healthy) + 0.02 or slow


@pytest.mark.parametrize("scenario", CASES)
def test_only_faults_slow_requests_down(scenario: Scenario, environment: LabEnvironment) -> None:
    if list_missing_programs(scenario):
        pytest.skip(f"no {', '.join(list_missing_programs(scenario))}")
    with scenario.run(environment, random.Random(2)) as live:
        healthy = live.parameters["healthy"]
        assert isinstance(healthy, dict)
        time.sleep(scenario.seconds)
        unhealthy = live.stats()
        named = subprocess.run(
            [*live.host.ssh(), "hostname"], capture_output=True, text=True, timeout=30, check=False
        )
        assert named.stdout.strip() == live.host.name, "the host cannot be reached"
    if scenario.own_host:
        assert live.host.process.poll() is not None
        assert not live.host.directory.exists()
        assert not _groups(live.host.name)
    assert healthy["ok"] / healthy["requests"] > 0.98, healthy
    if scenario.id in PROOFS:
        assert PROOFS[scenario.id](unhealthy), unhealthy
    elif scenario.causes:
        assert _hurt(healthy, unhealthy), (healthy, unhealthy)
    else:
        assert unhealthy["ok"] / unhealthy["requests"] > 0.99, unhealthy
        assert not math.isnan(unhealthy["p50_ms"])


def test_each_fault_has_a_validation_variant_and_a_decoy() -> None:
    kinds: dict[str, set[str]] = {}
    for scenario in load_scenarios().values():
        kinds.setdefault(scenario.family, set()).add(scenario.kind)
    for family, result in kinds.items():
        expected = {"healthy"} if family == "healthy" else {"fault", "validation", "decoy"}
        assert result - {"holdout"} == expected, family


def test_the_same_seed_chooses_the_same(environment: LabEnvironment) -> None:
    chosen = []
    for _ in range(2):
        with load_scenarios()["idle"].run(environment, random.Random(7)) as live:
            chosen.append({name: value for name, value in live.parameters.items() if name != "healthy"})
        for pid in environment.app.pids():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
    assert chosen[0] == chosen[1]


def test_a_killed_run_leaves_nothing() -> None:
    before = TABLE.read_text()
    command = [sys.executable, "-m", "lab", "run", "conntrack-full", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        name = run.stdout.readline().split("/ssh/")[2].split("/")[0]
        assert "in place" in run.stdout.readline()
        assert TABLE.read_text() != before
        assert _groups(name)
        run.kill()
    end = time.monotonic() + 10
    while time.monotonic() < end and (TABLE.read_text() != before or _groups(name)):
        time.sleep(0.1)
    assert TABLE.read_text() == before
    assert not _groups(name)

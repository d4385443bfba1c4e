"""A served host keeps its fault until it is repaired; end-to-end tests and the demo rely on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.cgroups import list_hierarchies
from lab.faults import list_missing_programs, load_scenarios

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ROOT = Path(__file__).parents[2]
SETTLE_S, LOOK_S = 4.0, 4.0
#: Scenarios with a repair, each with what must be better for clients afterwards.
REPAIRABLE = {
    "listen-overflow": "bad",
    "oversubscription": "p99_ms",
    "osync-log": "p99_ms",
    "major-faults": "p99_ms",
    "firewall-drop": "bad",
    "port-exhaustion": "bad",
    "memcg-oom": "bad",
    "slow-dependency": "bad",
    "slow-dependency-chain": "bad",
    "qdisc-drop": "p99_ms",
}
CASES = [
    pytest.param(name, id=name, marks=() if name == "listen-overflow" else pytest.mark.slow)
    for name in REPAIRABLE
]


class ServedHost:
    """Client of the process and its lines of JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def read_message(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, command: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.read_message()

    def bad(self, cause: str) -> dict[str, float]:
        seen = self.ask("stats")["stats"][cause]
        return seen | {"bad": (seen["errors"] + seen["timeouts"]) / max(1, seen["requests"])}


@contextmanager
def serve_hosts(*ids: str, seed: int = 7) -> Iterator[ServedHost]:
    command = [sys.executable, "-m", "lab", "serve", *ids, "--seed", str(seed), "--max-s", "150"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield ServedHost(process)
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


@pytest.mark.parametrize("name", CASES)
def test_repair_restores_clients(name: str) -> None:
    scenario = load_scenarios()[name]
    if list_missing_programs(scenario):
        pytest.skip(f"no {', '.join(list_missing_programs(scenario))}")
    cause, what = scenario.causes[0], REPAIRABLE[name]
    with serve_hosts(name) as host:
        ready = host.read_message()["ready"]
        assert ready["repairable"] == [cause]
        assert "error" in host.ask("repair everything")
        groups = [item / "lab" / ready["name"] for item in list_hierarchies().values()]
        time.sleep(LOOK_S)
        unhealthy = host.bad(cause)
        assert host.ask(f"repair {cause}") == {"repaired": cause}
        time.sleep(SETTLE_S)
        host.ask("mark")
        time.sleep(LOOK_S)
        well = host.bad(cause)
        assert well["ok"] > 0
        assert well[what] < 0.5 * unhealthy[what], (unhealthy, well)
    assert host.process.returncode == 0
    assert not [group for group in groups if group.exists()], "left behind"


@pytest.mark.slow
def test_each_of_two_causes_has_its_own_repair() -> None:
    first, second = "firewall-drop", "qdisc-drop"
    if lacking := [
        *list_missing_programs(load_scenarios()[first]),
        *list_missing_programs(load_scenarios()[second]),
    ]:
        pytest.skip(f"no {', '.join(lacking)}")
    seen = []
    with serve_hosts(first, second) as host:
        assert host.read_message()["ready"]["repairable"] == [first, second]
        for cause in (None, first, second):
            assert cause is None or host.ask(f"repair {cause}") == {"repaired": cause}
            time.sleep(SETTLE_S)
            host.ask("mark")
            time.sleep(LOOK_S)
            seen.append({first: host.bad(first) for first in (first, second)})
    unhealthy, half, well = seen
    assert half[first]["bad"] < 0.5 * unhealthy[first]["bad"], seen
    assert well[second]["p99_ms"] < 0.5 * half[second]["p99_ms"], seen

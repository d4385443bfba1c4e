"""A host that stands sick until it is cured: what journeys and the demo lean on."""

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

from e2e.lab.cgroups import hierarchies
from e2e.lab.faults import missing, scenarios

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ROOT = Path(__file__).parents[3]
SETTLE_S, LOOK_S = 4.0, 4.0
#: Scenarios with a cure, each with what must be better for clients afterwards.
CURED = {
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
    pytest.param(name, id=name, marks=() if name == "listen-overflow" else pytest.mark.slow) for name in CURED
]


class Standing:
    """The process, spoken to by lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, command: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.hear()

    def bad(self, cause: str) -> dict[str, float]:
        seen = self.ask("stats")["stats"][cause]
        return seen | {"bad": (seen["errors"] + seen["timeouts"]) / max(1, seen["requests"])}


@contextmanager
def standing(*ids: str, seed: int = 7) -> Iterator[Standing]:
    command = [sys.executable, "-m", "e2e.lab", "stand", *ids, "--seed", str(seed), "--max-s", "150"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Standing(process)
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(timeout=60)
        process.stdout.close()


@pytest.mark.parametrize("name", CASES)
def test_the_cure_heals(name: str) -> None:
    scenario = scenarios()[name]
    if missing(scenario):
        pytest.skip(f"no {', '.join(missing(scenario))}")
    cause, what = scenario.causes[0], CURED[name]
    with standing(name) as host:
        ready = host.hear()["ready"]
        assert ready["cures"] == [cause]
        assert "error" in host.ask("cure everything")
        groups = [one / "lab" / ready["name"] for one in hierarchies().values()]
        time.sleep(LOOK_S)
        sick = host.bad(cause)
        assert host.ask(f"cure {cause}") == {"cured": cause}
        time.sleep(SETTLE_S)
        host.ask("mark")
        time.sleep(LOOK_S)
        well = host.bad(cause)
        assert well["ok"] > 0
        assert well[what] < 0.5 * sick[what], (sick, well)
    assert host.process.returncode == 0
    assert not [one for one in groups if one.exists()], "left behind"


@pytest.mark.slow
def test_of_two_causes_each_has_its_own_cure() -> None:
    first, second = "firewall-drop", "qdisc-drop"
    if lacking := [*missing(scenarios()[first]), *missing(scenarios()[second])]:
        pytest.skip(f"no {', '.join(lacking)}")
    seen = []
    with standing(first, second) as host:
        assert host.hear()["ready"]["cures"] == [first, second]
        for cause in (None, first, second):
            assert cause is None or host.ask(f"cure {cause}") == {"cured": cause}
            time.sleep(SETTLE_S)
            host.ask("mark")
            time.sleep(LOOK_S)
            seen.append({one: host.bad(one) for one in (first, second)})
    sick, half, well = seen
    assert half[first]["bad"] < 0.5 * sick[first]["bad"], seen
    assert well[second]["p99_ms"] < 0.5 * half[second]["p99_ms"], seen

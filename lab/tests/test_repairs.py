"""A fault of real software can be removed and put in place again, and clients notice both."""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from lab.environment import LabEnvironment
from lab.faults import list_missing_programs
from lab.real import development
from lab.scenario import Live, Scenario

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.long(60),
]
MEASURED_S = 8.0
CASES = [
    pytest.param(name, id=name, marks=() if name == "slow-http-dependency" else pytest.mark.slow)
    for name in development.REPAIRABLE
]


def find_scenario(name: str) -> Scenario:
    modules = [
        importlib.import_module(f"{development.__name__}.{module.name}")
        for module in pkgutil.iter_modules(development.__path__)
    ]
    return next(item for module in modules for item in module.SCENARIOS if item.id == name)


def measure_badness(live: Live, settle_s: float, change: Callable[[], None] | None = None) -> dict[str, Any]:
    if change is not None:
        change()
    time.sleep(settle_s)
    live.mark()
    time.sleep(MEASURED_S)
    stats = live.stats()
    failed = (stats["errors"] + stats["timeouts"]) / stats["requests"]
    # A request without an answer took at least as long as its client waited: three seconds and more.
    return {"failed": failed, "p99_ms": stats["p99_ms"] if stats["ok"] else 3000.0, "stats": stats}


@pytest.mark.parametrize("name", CASES)
def test_fault_is_removed_and_injected_again(name: str) -> None:
    scenario = find_scenario(name)
    if missing := list_missing_programs(scenario):
        pytest.skip(f"no {', '.join(missing)}")
    with LabEnvironment(max_s=200) as environment, scenario.run(environment, random.Random(5)) as live:
        assert live.repair is not None and live.inject is not None
        assert live.access_log
        unhealthy = measure_badness(live, scenario.seconds)
        well = measure_badness(live, scenario.seconds, live.repair)
        again = measure_badness(live, scenario.seconds, live.inject)
    assert well["stats"]["ok"] > 0
    for bad in (unhealthy, again):
        slower = bad["p99_ms"] > 1.5 * well["p99_ms"]
        assert slower or bad["failed"] > well["failed"] + 0.02, (bad, well)

"""Faults of real software from Debian packages. See README.md."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from types import ModuleType

from lab.real import development, holdout
from lab.scenario import Scenario

PACKAGES: tuple[ModuleType, ...] = (development, holdout)
#: Held-out scenarios whose first rounds were read to improve rules, on 27 November 2026. They count as development.
REVEALED = frozenset(
    {
        "connection-churn", "cpu-quota", "crash-loop", "deleted-open-file", "deploy-before", "disk-full", "fuse-hang",
        "go-gc-pressure", "gunicorn-workers", "haproxy-maxconn", "host-out-of-cpu", "inodes-exhausted", "jvm-gc-pause",
        "lock-in-runtime", "lock-in-runtime-jvm", "log-flood", "memcg-page-cache-thrash", "node-event-loop-blocked",
        "packet-loss-to-database", "postgres-checkpoint-storm", "postgres-lock-wait", "redis-slow-command",
        "tracer-attached", "worker-leak",
    }
)  # fmt: skip


def load_real_scenarios() -> dict[str, Scenario]:
    """Return all scenarios of real software by id. Raises ValueError for an id that two scenarios have."""
    scenarios: dict[str, Scenario] = {}
    for package in PACKAGES:
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
            for scenario in importlib.import_module(f"{package.__name__}.{module.name}").SCENARIOS:
                if scenario.id in scenarios:
                    raise ValueError(f"two scenarios are called {scenario.id}")
                is_revealed = scenario.id in REVEALED
                scenarios[scenario.id] = replace(scenario, kind="development") if is_revealed else scenario
    return scenarios

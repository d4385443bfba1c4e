"""Faults of real software from Debian packages. See README.md."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from lab.real import development, holdout, revealed
from lab.scenario import Scenario

PACKAGES: tuple[ModuleType, ...] = (development, revealed, holdout)


def load_real_scenarios() -> dict[str, Scenario]:
    """Return all scenarios of real software by id. Raises ValueError for an id that two scenarios have."""
    scenarios: dict[str, Scenario] = {}
    for package in PACKAGES:
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
            for scenario in importlib.import_module(f"{package.__name__}.{module.name}").SCENARIOS:
                if scenario.id in scenarios:
                    raise ValueError(f"two scenarios are called {scenario.id}")
                scenarios[scenario.id] = scenario
    return scenarios

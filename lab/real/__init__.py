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
        modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for name in sorted(module.name for module in modules if not module.ispkg):
            for scenario in importlib.import_module(name).SCENARIOS:
                if scenario.id in scenarios:
                    raise ValueError(f"two scenarios are called {scenario.id}")
                scenarios[scenario.id] = scenario
    return scenarios

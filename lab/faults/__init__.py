"""Every module here has SCENARIOS; they are found by listing."""

from __future__ import annotations

import importlib
import pkgutil
import shutil

from lab.scenario import Scenario


def load_scenarios() -> dict[str, Scenario]:
    """All scenarios of the lab by id."""
    scenarios: dict[str, Scenario] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for scenario in importlib.import_module(f"{__name__}.{module.name}").SCENARIOS:
            if scenario.id in scenarios:
                raise ValueError(f"two scenarios are called {scenario.id}")
            scenarios[scenario.id] = scenario
    return scenarios


def list_missing_programs(scenario: Scenario) -> list[str]:
    """Programs that `scenario` needs and this machine lacks."""
    return [program for program in scenario.needs if not shutil.which(program)]

"""All rules and causes. Each module below `catalog` has RULES, each module of `causes` has CAUSES."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import TypeVar

from culprit.domain.rules import catalog, causes
from culprit.domain.rules.cause import Cause
from culprit.domain.rules.rule import Measure, Rule
from culprit.domain.rules.use_method import Use

__all__ = ["CAUSES", "RULES", "USE_BY_RULE"]


def _load_modules(package: ModuleType) -> list[ModuleType]:
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(name) for name in sorted(info.name for info in modules if not info.ispkg)]


Named = TypeVar("Named", Rule, Cause)


def _load_by_id(package: ModuleType, attribute: str) -> Mapping[str, Named]:
    """Return the definitions by ID. Raises ValueError for a duplicate ID."""
    by_id: dict[str, Named] = {}
    for module in _load_modules(package):
        for item in getattr(module, attribute):
            if item.id in by_id:
                raise ValueError(f"{item.id} is defined twice")
            by_id[item.id] = item
    return MappingProxyType(by_id)


def find_ambiguous_measures(rules: Iterable[Rule]) -> list[str]:
    """Return the IDs that two measures share. Numbers are stored by ID, so one would replace the other."""
    by_id: dict[str, Measure] = {}
    inputs = (item for rule in rules for item in rule.inputs() if isinstance(item, Measure))
    return sorted({item.id for item in inputs if by_id.setdefault(item.id, item) is not item})


RULES: Mapping[str, Rule] = _load_by_id(catalog, "RULES")
CAUSES: Mapping[str, Cause] = _load_by_id(causes, "CAUSES")
if ambiguous := find_ambiguous_measures(RULES.values()):
    raise ValueError(f"two measures share an ID: {', '.join(ambiguous)}")

#: Rule ID → its column of the USE grid. Rules about data quality have none.
USE_BY_RULE: Mapping[str, Use] = MappingProxyType(
    {rule.id: rule.use for rule in RULES.values() if rule.use is not None}
)

"""All rules and causes. Every module of `catalog` has RULES, of `causes` CAUSES; none is registered."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import TypeVar

from culprit.core.rules import catalog, causes
from culprit.core.rules.cause import Cause
from culprit.core.rules.contract import Rule

__all__ = ["CAUSES", "RULES"]


def _modules(package: ModuleType) -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


Named = TypeVar("Named", Rule, Cause)


def _by_id(package: ModuleType, attribute: str) -> Mapping[str, Named]:
    """By id; two with one id are our bug."""
    found: dict[str, Named] = {}
    for module in _modules(package):
        for one in getattr(module, attribute):
            if one.id in found:
                raise ValueError(f"{one.id} is defined twice")
            found[one.id] = one
    return MappingProxyType(found)


RULES: Mapping[str, Rule] = _by_id(catalog, "RULES")
CAUSES: Mapping[str, Cause] = _by_id(causes, "CAUSES")

"""All collectors. Every module in `collectors.catalog` defines one `COLLECTOR`; none is registered."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from collectors import catalog
from collectors.contract import Collector

__all__ = ["COLLECTORS", "collector"]


def _discover() -> Mapping[str, Collector]:
    """Every collector by id, which is the name of its module."""
    found: dict[str, Collector] = {}
    for module in sorted(pkgutil.iter_modules(catalog.__path__), key=lambda info: info.name):
        one = importlib.import_module(f"{catalog.__name__}.{module.name}").COLLECTOR
        if not isinstance(one, Collector) or one.id != module.name:
            raise TypeError(f"collectors/catalog/{module.name}.py must define COLLECTOR with that id")
        found[one.id] = one
    return MappingProxyType(found)


COLLECTORS: Mapping[str, Collector] = _discover()


def collector(collector_id: str) -> Collector:
    """The collector of that id; KeyError where there is none."""
    return COLLECTORS[collector_id]

"""The registry of collectors. Every module below `collectors.catalog` that defines `COLLECTOR` is in it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from collectors import catalog
from collectors.contract import Collector

__all__ = ["COLLECTORS"]


def _discover_collectors() -> Mapping[str, Collector]:
    """Return every collector by its ID, which is the name of its module. Areas are the packages of the catalog."""
    collectors: dict[str, Collector] = {}
    modules = pkgutil.walk_packages(catalog.__path__, f"{catalog.__name__}.")
    for module in sorted(modules, key=lambda info: info.name.rpartition(".")[2]):
        if module.ispkg:
            continue
        collector = getattr(importlib.import_module(module.name), "COLLECTOR", None)
        module_id = module.name.rpartition(".")[2]
        if not isinstance(collector, Collector) or collector.id != module_id:
            raise TypeError(f"{module.name} must define COLLECTOR with the id {module_id!r}")
        if collector.id in collectors:
            raise ValueError(f"two collectors have the id {collector.id!r}")
        collectors[collector.id] = collector
    return MappingProxyType(collectors)


COLLECTORS: Mapping[str, Collector] = _discover_collectors()

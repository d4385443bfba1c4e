"""Tables, one file each, in one folder per area."""

from __future__ import annotations

import importlib
import pkgutil


def load_all() -> None:
    """Import every table, so that the metadata is complete and foreign keys resolve."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)

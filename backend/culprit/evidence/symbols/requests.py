"""List the symbol files that a recording needs, and those of them to fetch from the host."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from collectors.runner.symbols import MAX_FILES, MAX_MAPS, FileRequest, name_debug_key
from culprit.evidence.symbols.queries import KERNEL
from culprit.json_types import Json

#: The reader of profiles whose functions the server names.
READER = "perf_data"


def list_keys(source: Mapping[str, Any]) -> list[str]:
    """Return the keys of the stored symbols that a profile needs: of its modules, and of the kernel."""
    modules = [module["key"] for module in source["modules"] if module["key"]]
    return [*modules, *map(name_debug_key, modules), KERNEL + source["kernel"]]


def list_missing_files(sources: Iterable[Mapping[str, Any]], known: Iterable[str]) -> list[FileRequest]:
    """Return the files to fetch, those with the most samples first. `known` are the keys of files that are stored."""
    modules: dict[str, Json] = {}
    done = set(known)
    for module in (module for source in sources for module in source["modules"]):
        key = module["key"]
        if key and key not in done and module["path"].startswith("/"):
            first = modules.setdefault(key, {**module, "samples": 0})
            first["samples"] += module["samples"]
    ranked = sorted(modules.values(), key=lambda module: -module["samples"])
    return [build_file_request(module) for module in ranked[:MAX_FILES]]


def list_programs(sources: Iterable[Mapping[str, Any]], known: Iterable[str]) -> list[str]:
    """Return the keys of files that are stored without debugging symbols, those with the most samples first.

    `known` are the keys of all files that are stored.
    """
    stored = set(known)
    samples: dict[str, int] = {}
    for module in (module for source in sources for module in source["modules"]):
        key = module["key"]
        if key in stored and name_debug_key(key) not in stored and module["path"].startswith("/"):
            samples[key] = samples.get(key, 0) + module["samples"]
    return sorted(samples, key=lambda key: -samples[key])


def list_generated(sources: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the IDs of processes that ran code without a file (JIT), those with the most samples first."""
    samples: dict[int, int] = {}
    for module in (module for source in sources for module in source["modules"] if module["is_anonymous"]):
        for pid, _, _ in module["places"]:
            samples[pid] = samples.get(pid, 0) + module["samples"]
    return sorted(samples, key=lambda pid: -samples[pid])[:MAX_MAPS]


def build_file_request(module: Json) -> FileRequest:
    """Return the request for the file of a module of a recording."""
    places = [(pid, start, end) for pid, start, end in module["places"]]
    kind, *numbers = module["key"].split("-")
    if kind != "inode":
        return FileRequest(module["key"], places)
    major, minor, inode, _generation = (int(number, 16) for number in numbers)
    return FileRequest(module["key"], places, f"{os.makedev(major, minor):x}-{inode}", module["path"])

"""Profiles and comparisons that are open in this process.

A brush asks the same profile many times a second. Opened files stay mapped, the ones used longest ago go
first when together they are larger than MAX_BYTES. Files are content-addressed, so nothing open is ever
stale.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from collectors.profiles.samples import SampleTable
from collectors.profiles.scheduling import SchedTable
from culprit.domain.profiles.comparison import ComparisonTrie
from culprit.domain.profiles.stacks import StackProfile

MAX_BYTES = 1 << 30
# What is derived of a table (names, masks) and kept with it, as a share of the size of its file.
DERIVED_SIZE_FACTOR = 1.5

Opened = TypeVar("Opened")


class FileCache(Generic[Opened]):
    """Opened files by content address, least recently used first. Safe to use from several threads."""

    def __init__(self, load: Callable[[Path], Opened], max_bytes: int = MAX_BYTES) -> None:
        self._load = load
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[Opened, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, path: Callable[[str], Path]) -> Opened:
        """The file `key`; `path` finds it where it is not open yet. Raises what either raises."""

        def load() -> tuple[Opened, int]:
            place = path(key)
            return self._load(place), int(place.stat().st_size * DERIVED_SIZE_FACTOR)

        return self.get_or_make(key, load)

    def get_or_make(self, key: str, make: Callable[[], tuple[Opened, int]]) -> Opened:
        """What is stored as `key`; `make` returns it with its size in bytes where it is not there yet."""
        with self._lock:
            if key in self._open:
                self._open.move_to_end(key)
                return self._open[key][0]
        loaded, size = make()
        with self._lock:
            if key not in self._open:
                self._open[key] = (loaded, size)
                self._bytes += size
            while self._bytes > self._max_bytes and len(self._open) > 1:
                _, (_, freed) = self._open.popitem(last=False)
                self._bytes -= freed
        return loaded

    def clear(self) -> None:
        """Close everything."""
        with self._lock:
            self._open.clear()
            self._bytes = 0


def _load_profile(path: Path) -> StackProfile:
    return StackProfile(SampleTable.load(path, verify=False))


PROFILES: FileCache[StackProfile] = FileCache(_load_profile)
TRANSFORMED: FileCache[StackProfile] = FileCache(_load_profile, 256 << 20)
"""Profiles with changed stacks, by content address and change."""

SCHEDULES: FileCache[SchedTable] = FileCache(SchedTable.load, 512 << 20)
COMPARISONS: FileCache[ComparisonTrie] = FileCache(ComparisonTrie.load, 256 << 20)

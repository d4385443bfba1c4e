"""LRU cache of memory-mapped profiles and comparisons in this process.

Dragging a time selection requests the same profile many times per second, so opened files stay mapped. The least
recently used ones are closed when their total size exceeds MAX_BYTES. Files are content-addressed, so an open file is
never stale.
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
# Memory of a table with derived data (names, masks), as a multiple of its file size.
DERIVED_SIZE_FACTOR = 1.5

Opened = TypeVar("Opened")


class FileCache(Generic[Opened]):
    """LRU cache of opened files by content address. It is thread-safe."""

    def __init__(self, load: Callable[[Path], Opened], max_bytes: int = MAX_BYTES) -> None:
        self._load = load
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[Opened, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, path: Callable[[str], Path]) -> Opened:
        """Return the file with this key; open it at `path(key)` if necessary. Errors of `path` and `load` propagate."""

        def load() -> tuple[Opened, int]:
            file = path(key)
            return self._load(file), int(file.stat().st_size * DERIVED_SIZE_FACTOR)

        return self.get_or_load(key, load)

    def get_or_load(self, key: str, load: Callable[[], tuple[Opened, int]]) -> Opened:
        """Return the entry of `key`. If it is missing, `load` returns it with its size in bytes."""
        with self._lock:
            if key in self._open:
                self._open.move_to_end(key)
                return self._open[key][0]
        loaded, size = load()
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
"""Profiles with transformed stacks, by content address and transform."""

SCHEDULES: FileCache[SchedTable] = FileCache(SchedTable.load, 512 << 20)
COMPARISONS: FileCache[ComparisonTrie] = FileCache(ComparisonTrie.load, 256 << 20)

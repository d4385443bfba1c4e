"""How often one and the same may ask: a count per minute, in memory, bounded."""

from __future__ import annotations

import threading
from collections import OrderedDict

from culprit.kit.errors import TooMany

MOST_NAMES = 10_000


class Gate:
    """Counts by name (an address, an account) over a minute that begins with the first; knows the newest names only.

    `says` is the sentence of the refusal.
    """

    def __init__(self, per_minute: int, says: str) -> None:
        self.per_minute = per_minute
        self.says = says
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def enter(self, name: str, at: float) -> None:
        """Count one at `at`, seconds of a clock that never goes back. Raises TooMany."""
        with self._lock:
            begun, count = self._seen.get(name, (at, 0))
            if at - begun >= 60:
                begun, count = at, 0
            self._seen[name] = (begun, count + 1)
            self._seen.move_to_end(name)
            while len(self._seen) > MOST_NAMES:
                self._seen.popitem(last=False)
        if count >= self.per_minute:
            raise TooMany(self.says, retry_after_s=max(1, int(60 - (at - begun))))

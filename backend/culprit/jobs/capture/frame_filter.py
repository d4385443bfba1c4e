"""Filter frames and lines of a host: only requested ones pass, each limited in count and size.

Others are counted by reason and dropped: they use no memory of the worker, no file and no row.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from collectors.runner.frames import Frame, FrameHeader, ProgressLine

DropReason = Literal["not_ordered", "repeated", "out_of_order", "too_many", "too_large"]

#: One file per part. The largest collector writes about ten on a real host.
MAX_PARTS_PER_COLLECTOR = 64
#: The runner reads the clock about every ten seconds. `collectors.clock.mapping` has the same maximum.
MAX_CLOCKS = 1_000
#: Base64 and compression headers make a part larger than its file.
ENCODED_SHARE = 1.4
ENCODED_BYTES = 64 << 10
#: A collector reports its start and its end; more reports are a flood.
MAX_STATES_PER_COLLECTOR = 8
#: A watcher reports every five seconds, and each of its four conditions at most once a second.
WATCHER_LINES = 20
WATCHER_LINES_PER_S = 5.0


class DroppedPart:
    """Discard the bytes of a part that is not accepted."""

    def write(self, data: bytes, /) -> object:
        """Discard the next bytes."""
        return len(data)


class FrameFilter:
    """Decide frame by frame. `collectors` are the requested ones, with the bytes that each may send."""

    def __init__(self, collectors: Mapping[str, int]) -> None:
        self._max_bytes = dict(collectors)
        self._parts: dict[str, set[str]] = {name: set() for name in collectors}
        self._ended: set[str] = set()
        self._states: dict[str, list[str]] = {name: [] for name in collectors}
        self._kinds: Counter[str] = Counter()
        self._over = False
        self._lines_left = float(WATCHER_LINES)
        self._line_at = time.monotonic()
        self.dropped: Counter[str] = Counter()

    def accept_part(self, header: FrameHeader) -> bool:
        """Return whether the part with this header is accepted. Call it once per part, before its bytes arrive."""
        names = self._parts.get(header.id)
        if names is None:
            return self._drop("not_ordered")
        if self._over or not self._kinds["hello"] or header.id in self._ended:
            return self._drop("out_of_order")
        if header.part in names:
            return self._drop("repeated")
        if len(names) >= MAX_PARTS_PER_COLLECTOR:
            return self._drop("too_many")
        if header.length > self._max_bytes[header.id] * ENCODED_SHARE + ENCODED_BYTES:
            return self._drop("too_large")
        names.add(header.part)
        return True

    def accept(self, frame: Frame) -> bool:
        """Return whether a complete frame passes to the worker."""
        head = frame.header
        if head.kind == "part":
            return not isinstance(frame.sink, DroppedPart)
        if self._over:
            return self._drop("out_of_order")
        if head.kind == "outcome":
            return self._accept_outcome(head.id)
        if head.kind == "clock":
            if self._kinds["clock"] >= MAX_CLOCKS:
                return self._drop("too_many")
        elif self._kinds[head.kind]:
            return self._drop("repeated")
        elif head.kind == "snapshot" and self._kinds:
            return self._drop("out_of_order")
        self._kinds[head.kind] += 1
        self._over = head.kind in ("busy", "refused", "end")
        return True

    def _accept_outcome(self, collector: str) -> bool:
        if collector not in self._max_bytes:
            return self._drop("not_ordered")
        if collector in self._ended:
            return self._drop("repeated")
        if not self._kinds["hello"]:
            return self._drop("out_of_order")
        self._ended.add(collector)
        return True

    def accept_progress(self, progress: ProgressLine) -> bool:
        """Return whether this is new progress of a requested collector."""
        states = self._states.get(progress.collector)
        if states is None:
            return self._drop("not_ordered")
        if states and states[-1] == progress.state:
            return False
        if len(states) >= MAX_STATES_PER_COLLECTOR:
            return self._drop("too_many")
        states.append(progress.state)
        return True

    def accept_line(self, now: float) -> bool:
        """Return whether one more line of a watcher passes, `now` in monotonic seconds."""
        gained = (now - self._line_at) * WATCHER_LINES_PER_S
        self._lines_left = min(float(WATCHER_LINES), self._lines_left + gained)
        self._line_at = now
        if self._lines_left < 1:
            return self._drop("too_many")
        self._lines_left -= 1
        return True

    def _drop(self, reason: DropReason) -> bool:
        self.dropped[reason] += 1
        return False

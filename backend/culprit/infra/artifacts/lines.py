"""Lines of a stored artifact, for people: a window that costs no more memory than its own size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.parse.limits import Limits
from culprit.infra.parts import StoredPart

MAX_COUNT = 1000
LINE_BYTES = 4096
LIMITS = Limits(unpacked=256 << 20)


@dataclass(frozen=True, slots=True)
class Window:
    """`lines` from line `first` (1-based) on; `total` where the end was reached."""

    first: int
    total: int | None
    lines: list[str]


def window(part: StoredPart, first: int, count: int) -> Window:
    """At most `count` lines, each cut at LINE_BYTES. Raises ImportRefused where it cannot be unpacked."""
    found = list(itertools.islice(_lines(part), first - 1, first - 1 + min(count, MAX_COUNT) + 1))
    more = len(found) > min(count, MAX_COUNT)
    if more:
        found.pop()
    total = None if more or not found else first - 1 + len(found)
    return Window(first, total, [line.decode("utf-8", "replace") for line in found])


def _lines(part: StoredPart) -> Iterator[bytes]:
    """Lines without their ends; what of a line is beyond LINE_BYTES is read over."""
    limited = StoredPart(part.sha256, part.size, part.path, part.encoding, LIMITS)
    with limited.open() as stream:
        while line := stream.readline(LINE_BYTES):
            kept = line
            while not line.endswith(b"\n"):
                line = stream.readline(LINE_BYTES)
                if not line:
                    break
            yield kept.rstrip(b"\r\n")

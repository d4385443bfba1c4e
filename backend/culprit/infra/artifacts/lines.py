"""Read a range of lines of a stored artifact in memory bounded by that range."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.profiles.limits import ReaderLimits
from culprit.infra.artifacts.stored_part import StoredPart

MAX_COUNT = 1000
LINE_BYTES = 4096
LIMITS = ReaderLimits(unpacked=256 << 20)


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of an artifact from line `first` (1-based); `total` is the number of lines if the end was reached."""

    first: int
    total: int | None
    lines: list[str]


def read_line_range(part: StoredPart, first: int, count: int) -> LineRange:
    """Return at most `count` lines, each cut at LINE_BYTES.

    Raises ImportRefusedError if the artifact cannot be unpacked.
    """
    result = list(itertools.islice(_iter_lines(part), first - 1, first - 1 + min(count, MAX_COUNT) + 1))
    more = len(result) > min(count, MAX_COUNT)
    if more:
        result.pop()
    total = None if more or not result else first - 1 + len(result)
    return LineRange(first, total, [line.decode("utf-8", "replace") for line in result])


def _iter_lines(part: StoredPart) -> Iterator[bytes]:
    """Yield lines without their ends; bytes of a line beyond LINE_BYTES are skipped."""
    limited = StoredPart(part.sha256, part.size, part.path, part.encoding, LIMITS)
    with limited.open() as stream:
        while line := stream.readline(LINE_BYTES):
            start = line
            while not line.endswith(b"\n"):
                line = stream.readline(LINE_BYTES)
                if not line:
                    break
            yield start.rstrip(b"\r\n")

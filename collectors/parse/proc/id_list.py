"""Lists of CPUs and nodes as the kernel writes them: `0-3,8,10-11`."""

from __future__ import annotations

import re

_RANGE = re.compile(rb"(\d{1,6})(?:-(\d{1,6}))?\Z")
_MAX_IDS = 16_384


def parse_ids(text: bytes) -> tuple[int, ...]:
    """All numbers of the list in its order; what is no range is left out, and so is all beyond 16384 ids."""
    results: list[int] = []
    for token in text[: 1 << 16].strip().split(b","):
        match = _RANGE.match(token.strip())
        if match is None:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        results += range(first, min(last, first + _MAX_IDS - len(results)) + 1)
        if len(results) >= _MAX_IDS:
            break
    return tuple(results[:_MAX_IDS])

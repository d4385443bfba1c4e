"""Lists of CPUs and nodes as the kernel writes them: `0-3,8,10-11`."""

from __future__ import annotations

import re

_RANGE = re.compile(rb"(\d{1,6})(?:-(\d{1,6}))?\Z")
_MAX_IDS = 16_384


def ids(text: bytes) -> tuple[int, ...]:
    """All numbers of the list in its order; what is no range is left out, and so is all beyond 16384 ids."""
    found: list[int] = []
    for token in text[: 1 << 16].strip().split(b","):
        match = _RANGE.match(token.strip())
        if match is None:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        found += range(first, min(last, first + _MAX_IDS - len(found)) + 1)
        if len(found) >= _MAX_IDS:
            break
    return tuple(found[:_MAX_IDS])

"""A parser with planted defects, which the fuzzer has to notice."""

from __future__ import annotations

import time

ENOUGH_S = 8.0


def parse_planted(data: bytes) -> int:
    """Read a few tags. `BUG` raises an undeclared error, `SLOW` takes seconds for few bytes, `LARGE` takes memory."""
    tag = data[:6]
    if tag[:1] == b"B" and tag[1:2] == b"U" and tag[2:3] == b"G":
        raise KeyError("planted")
    if tag == b"SLOW!!":
        end = time.process_time() + ENOUGH_S
        while time.process_time() < end:
            continue
    if tag == b"LARGE!":
        return len(b"x" * (200 << 20))
    if tag == b"TYPED!":
        raise ValueError("declared")
    return len(data)

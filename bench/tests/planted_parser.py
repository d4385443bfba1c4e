"""Parsers with planted defects, which the fuzzer has to notice."""

from __future__ import annotations

import time


def parse_planted(data: bytes) -> int:
    """Read a few tags. `BUG` raises an undeclared error, `TYPED!` raises a declared error."""
    tag = data[:6]
    if tag[:1] == b"B" and tag[1:2] == b"U" and tag[2:3] == b"G":
        raise KeyError("planted")
    if tag == b"TYPED!":
        raise ValueError("declared")
    return len(data)


def parse_slowly(data: bytes) -> int:
    """Use two seconds of CPU time for any input."""
    end = time.process_time() + 2.0
    while time.process_time() < end:
        continue
    return len(data)


def parse_largely(data: bytes) -> int:
    """Use 200 MiB for any input."""
    return len(data + b"x" * (200 << 20))

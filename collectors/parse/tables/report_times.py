"""When a tool that stamps whole seconds really wrote each of its reports.

iostat and vmstat print the wall clock without a fraction. The collector notes the uptime just before it
starts them (part `started`), and they report once a second from then on; so the k-th report is expected at
start + k seconds, and its stamp is the second in which it was printed. The expectation is kept inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from collectors.contract import Context, Part, Times
from collectors.parse.tables.tokens import parse_seconds_ns

PART = "started"
SECOND_NS = 1_000_000_000


def read_start_ns(parts: Mapping[str, Part]) -> int | None:
    """The host's uptime in nanoseconds when the tool was started; None where it was not noted."""
    part = parts.get(PART)
    if part is None:
        return None
    tokens = part.read(64).split()
    return parse_seconds_ns(tokens[0]) if tokens else None


def parse_epoch_ns(text: str) -> int | None:
    """An ISO date and time, with its offset or else in UTC, as nanoseconds; None for anything else."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    try:
        seconds = int(parsed.timestamp())
    except (OverflowError, ValueError):
        return None
    return seconds * SECOND_NS if 0 <= seconds < 1 << 32 else None


def compute_report_times(
    context: Context, stamps: Sequence[int | None], start_boot_ns: int | None, interval_s: float = 1.0
) -> Times | None:
    """UTC nanoseconds of reports that bear these stamps, never decreasing; None if the time is unknown.

    The first report is expected one interval after the start.
    """
    n = len(stamps)
    known = np.array([stamp is not None for stamp in stamps], bool)
    if start_boot_ns is None and not known.all():
        return None
    stamped = np.array([stamp or 0 for stamp in stamps], np.int64)
    lower = context.clock.to_utc("realtime", stamped)
    if start_boot_ns is None:
        return np.maximum.accumulate(lower + SECOND_NS // 2) if n else lower
    step = int(interval_s * SECOND_NS)
    boot_ns = start_boot_ns + step * np.arange(1, n + 1, dtype=np.int64)
    expected = context.clock.to_utc("boottime", boot_ns)
    if getattr(context.clock, "steps", ()):
        return expected  # a stamp of a clock that was set in the meantime cannot be used
    stored = np.where(known, np.clip(expected, lower, lower + SECOND_NS - 1), expected)
    return np.maximum.accumulate(stored) if n else stored

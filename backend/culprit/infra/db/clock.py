"""Clock of the server. Times in rows are aware UTC datetimes; times on a timeline are int nanoseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def now_ns() -> int:
    """Return the current time as UTC nanoseconds since 1970."""
    return time.time_ns()


def to_ns(at: datetime) -> int:
    """Return an aware datetime as UTC nanoseconds, exact to the microsecond of a datetime."""
    delta = at - datetime(1970, 1, 1, tzinfo=UTC)
    return ((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds) * 1_000

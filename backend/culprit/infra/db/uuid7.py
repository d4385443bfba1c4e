"""UUID version 7 (RFC 9562 §5.7): ids that sort by the time at which they were made.

Made here and not in the database, because PostgreSQL has a function for it only from version 18 on. The 12
bits behind the milliseconds hold their fraction (RFC 9562 §6.2, method 3), and within a process each id is
greater than the one before, so that rows that are written together keep their order.
"""

from __future__ import annotations

import secrets
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7(at_ms: int | None = None) -> UUID:
    """A new id; `at_ms` (Unix milliseconds) is for rows that tell of an earlier moment."""
    global _last  # noqa: PLW0603 - the order within a process is a state of the process
    if at_ms is not None:
        stamp = at_ms << 12 | secrets.randbits(12)
    else:
        ns = time.time_ns()
        stamp = (ns // 1_000_000) << 12 | (ns % 1_000_000) * 4096 // 1_000_000
        with _lock:
            stamp = _last = max(stamp, _last + 1)
    stamp &= (1 << 60) - 1
    value = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | secrets.randbits(62)
    return UUID(int=value)

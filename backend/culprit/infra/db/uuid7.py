"""UUID version 7 (RFC 9562 §5.7): IDs that sort by creation time.

They are created here because PostgreSQL has a function for them only since version 18. The 12 bits after the
milliseconds hold their fraction (RFC 9562 §6.2, method 3). Within a process each ID is greater than the
previous one, so that rows that are written together keep their order.
"""

from __future__ import annotations

import secrets
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def new_uuid7(at_ms: int | None = None) -> UUID:
    """Return a new ID. Set `at_ms` (Unix milliseconds) for rows about an earlier time."""
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

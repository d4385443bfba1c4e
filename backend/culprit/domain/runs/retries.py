"""Decide whether and when a failed run is retried automatically.

A stopped worker does not indicate a problem of the host: the run restarts as soon as the host is free. After a failure
on the host, the host may be unhealthy and every further login adds load: there are at most two more attempts, each
after a longer pause. Collectors of expensive tiers are repeated only when a user requests it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MAX_WORKER_LOSSES = 3
MAX_HOST_FAILURES = 2
HOST_PAUSE_S = 60.0
#: The longest pause before a run is repeated.
MAX_PAUSE_S = HOST_PAUSE_S * 2.0 ** (MAX_HOST_FAILURES - 1)
UNREPEATABLE_TIERS = frozenset({"deep", "ptrace"})

Side = Literal["worker", "host", "user"]


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """The attempts at a run so far, including the last one. `side` is the side that ended it.

    `begun`: a command may have started on the host. `final`: a retry cannot succeed.
    """

    side: Side
    tier: str
    worker_losses: int
    host_failures: int
    begun: bool
    final: bool = False


def compute_retry_pause_s(tried: AttemptHistory) -> float | None:
    """Return the seconds until the next attempt, or None if there is no further attempt."""
    if tried.final or tried.side == "user" or (tried.begun and tried.tier in UNREPEATABLE_TIERS):
        return None
    if tried.side == "worker":
        return 0.0 if tried.worker_losses <= MAX_WORKER_LOSSES else None
    if tried.host_failures > MAX_HOST_FAILURES:
        return None
    return HOST_PAUSE_S * 2.0 ** (tried.host_failures - 1)

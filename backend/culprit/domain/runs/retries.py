"""Decide whether and when a failed run is retried automatically.

A worker that stopped does not mean a host problem: the run starts again as soon as the host is free. A failure on
the host means that the host is unhealthy, and every further login adds load: at most two more attempts, each
after a longer pause. Work that was expensive for the host is repeated only when a user requests it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MAX_WORKER_LOSSES = 3
MAX_HOST_FAILURES = 2
HOST_PAUSE_S = 60.0
NEVER_REPEATED = frozenset({"deep", "ptrace"})

Side = Literal["worker", "host", "user"]


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """What was tried so far, the attempt that just ended included.

    `begun`: a command may have started on the host. `final`: a retry cannot succeed.
    """

    side: Side
    tier: str
    worker_losses: int
    host_failures: int
    begun: bool
    final: bool = False


def compute_retry_pause_s(tried: AttemptHistory) -> float | None:
    """Seconds until the next attempt, or None where there is none."""
    if tried.final or tried.side == "user" or (tried.begun and tried.tier in NEVER_REPEATED):
        return None
    if tried.side == "worker":
        return 0.0 if tried.worker_losses <= MAX_WORKER_LOSSES else None
    if tried.host_failures > MAX_HOST_FAILURES:
        return None
    return HOST_PAUSE_S * 2.0 ** (tried.host_failures - 1)

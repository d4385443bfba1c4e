"""Whether a run that did not end well is tried again by itself, and when.

A worker that died says nothing about the host: the run starts again as soon as the host is free. A failure on
the host says that the host is sick, and every further login makes it sicker: at most two more attempts, each
after a longer pause. What was expensive for the host is never repeated unless a person asks for it.
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
class Tried:
    """What was tried so far, the attempt that just ended included.

    `begun` says whether a command may have been started on the host, `final` that trying again cannot help.
    """

    side: Side
    tier: str
    worker_losses: int
    host_failures: int
    begun: bool
    final: bool = False


def pause_s(tried: Tried) -> float | None:
    """Seconds until the next attempt, or None where there is none."""
    if tried.final or tried.side == "user" or (tried.begun and tried.tier in NEVER_REPEATED):
        return None
    if tried.side == "worker":
        return 0.0 if tried.worker_losses <= MAX_WORKER_LOSSES else None
    if tried.host_failures > MAX_HOST_FAILURES:
        return None
    return HOST_PAUSE_S * 2.0 ** (tried.host_failures - 1)

"""Derive the state of a run from its collectors, and of a capture from its runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

RunState = Literal["queued", "running", "ingesting", "done", "partial", "failed", "canceled", "expired"]
CollectorState = Literal[
    "queued", "running", "done", "skipped", "failed", "timed_out", "unreadable", "canceled"
]

RUN_FINAL = frozenset({"done", "partial", "failed", "canceled", "expired"})
CAPTURE_FINAL = RUN_FINAL
# Collector states with results.
_USEFUL = frozenset({"done", "timed_out"})
_EXPECTED = frozenset({"done", "skipped"})


def decide_run_state(collectors: Iterable[str], *, failed: bool, canceled: bool) -> str:
    """Return the final state of a parsed run. `failed`: its session was interrupted or had another failure.

    Skipped collectors do not make a run partial, but a run without any result has failed.
    """
    states = list(collectors)
    if canceled:
        return "canceled"
    if not _USEFUL.intersection(states):
        return "failed"
    return "done" if not failed and _EXPECTED.issuperset(states) else "partial"


def decide_capture_state(runs: Iterable[str]) -> str:
    """Return the state of a capture from the states of its runs."""
    states = set(runs)
    if not RUN_FINAL.issuperset(states):
        return "queued" if states == {"queued"} else "running"
    if len(states) == 1:
        return states.pop()
    if states & {"done", "partial"}:
        return "partial"
    return "failed" if "failed" in states else "canceled"

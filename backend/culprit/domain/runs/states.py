"""What a run and a capture have come to, from the states of their parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

RunState = Literal["queued", "running", "ingesting", "done", "partial", "failed", "canceled", "expired"]
CollectorState = Literal[
    "queued", "running", "done", "skipped", "failed", "timed_out", "unreadable", "canceled"
]

RUN_FINAL = frozenset({"done", "partial", "failed", "canceled", "expired"})
CAPTURE_FINAL = RUN_FINAL
# The run has results that can be viewed.
_USEFUL = frozenset({"done", "timed_out"})
_EXPECTED = frozenset({"done", "skipped"})


def decide_run_state(collectors: Iterable[str], *, failed: bool, canceled: bool) -> str:
    """How a run ends whose artifacts were read. `failed`: it was cut, or something else went wrong with it.

    Skipped collectors are no fault of a run, unless nothing else is left of it.
    """
    states = list(collectors)
    if canceled:
        return "canceled"
    if not _USEFUL.intersection(states):
        return "failed"
    return "done" if not failed and _EXPECTED.issuperset(states) else "partial"


def decide_capture_state(runs: Iterable[str]) -> str:
    """The state of a capture over its runs."""
    states = set(runs)
    if not RUN_FINAL.issuperset(states):
        return "queued" if states == {"queued"} else "running"
    if len(states) == 1:
        return states.pop()
    if states & {"done", "partial"}:
        return "partial"
    return "failed" if "failed" in states else "canceled"

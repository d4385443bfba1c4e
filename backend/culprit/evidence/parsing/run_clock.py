"""The clock of a run while its artifacts are read: as it was stored, narrowed by perf's own reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.clock.mapping import ClockMap
from collectors.contract import Parsed

REFERENCE = "perf_reference"
# Whose facts may hold the reference; they are read first, so that all times of a run are on one clock.
PARSED_FIRST = ("perf_record", "perf_sched")


def load_clock(stored: Mapping[str, Any] | None) -> ClockMap:
    """The clock out of `Run.clock`; one that changes nothing where none was stored."""
    return ClockMap.from_json(stored)


def narrow_clock(clock: ClockMap, parsed: Parsed) -> ClockMap:
    """Return the clock, completed with the facts of a perf collector."""
    reference = parsed.facts.get(REFERENCE)
    if not clock.known or clock.perf or not isinstance(reference, Mapping):
        return clock
    return clock.with_perf_reference(reference)

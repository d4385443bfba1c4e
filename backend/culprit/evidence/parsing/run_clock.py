"""The clock of a run during parsing: the stored clock, refined by the clock reference in perf recordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.clock.mapping import ClockMap
from collectors.contract import Parsed

REFERENCE = "perf_reference"
# Collectors whose facts can have the reference. They are parsed first, so that all times of a run are on one clock.
PARSED_FIRST = ("perf_record", "perf_sched")


def load_clock(stored: Mapping[str, Any] | None) -> ClockMap:
    """Return the clock from `Run.clock`; without a stored clock, one that does not change times."""
    return ClockMap.from_json(stored)


def narrow_clock(clock: ClockMap, parsed: Parsed) -> ClockMap:
    """Return the clock with the reference from the facts of a perf collector; unchanged if it has one already."""
    reference = parsed.facts.get(REFERENCE)
    if not clock.known or clock.perf or not isinstance(reference, Mapping):
        return clock
    return clock.with_perf_reference(reference)

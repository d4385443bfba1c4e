"""The clock of a session: the host's readings as they came home, tied to the server's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from collectors.clock import ClockMap
from culprit.workflows.homecoming import Homecoming

Json = dict[str, Any]
# Between reading the wall clock and sending it lie a few commands on the host; the fastest take less.
SENDING_NS = 5_000_000
SENDING_ONCE_NS = 25_000_000
ENOUGH_READINGS = 3
DEFAULT_ROUND_TRIP_MS = 200.0


def server_offset(clocks: Sequence[Json], round_trip_ms: float) -> tuple[int, int] | None:
    """(server's clock minus host's, uncertainty) in ns; None without a reading.

    A reading cannot be heard before it was sent, so the smallest distance is nearest to the truth; it still
    holds the way back, which is at most the shortest round trip. What may be nothing is taken for nothing.
    """
    distances = [one["heard_ns"] - int(one["fields"]["real"]) for one in clocks if _number(one)]
    if not distances:
        return None
    sending = SENDING_NS if len(distances) >= ENOUGH_READINGS else SENDING_ONCE_NS
    slack = int(round_trip_ms * 1e6) + sending
    offset = min(distances) - slack // 2
    uncertainty = slack // 2
    return (offset if abs(offset) > uncertainty else 0), uncertainty


def _number(clock: Json) -> bool:
    return str(clock["fields"].get("real", "")).isdigit()


def clock_of_session(home: Homecoming) -> Json | None:
    """What is stored as `Run.clock`; also brings the times of the outcomes to UTC."""
    clock = ClockMap.from_records(one["fields"] for one in home.clocks)
    trip_ms = min(home.round_trips_ms, default=home.timings.get("connect_ms", DEFAULT_ROUND_TRIP_MS))
    tied = server_offset(home.clocks, trip_ms)
    if tied is not None:
        clock = clock.with_server_offset(*tied)
    for outcome in home.outcomes.values():
        for name in ("started_ns", "ended_ns"):
            outcome[name] = _utc(clock, outcome[name])
    return clock.to_json() if clock.known else None


def _utc(clock: ClockMap, boot_ns: int) -> int | None:
    if not clock.known or not 0 < boot_ns < 1 << 60:
        return None
    return int(clock.to_utc("boottime", np.array([boot_ns], np.int64))[0])

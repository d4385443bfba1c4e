"""The clock of a session: the host's readings as they came home, tied to the server's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from collectors.clock import UPTIME_GRAIN_NS, ClockMap, ClockSample
from culprit.workflows.homecoming import Homecoming

Json = dict[str, Any]
# Between reading the wall clock and sending it lie a few commands on the host; the fastest take less.
SENDING_NS = 5_000_000
SENDING_ONCE_NS = 25_000_000
ENOUGH_READINGS = 3
DEFAULT_ROUND_TRIP_MS = 200.0


def server_offset(
    distances: Sequence[int], round_trip_ms: float, *, early_ns: int = 0
) -> tuple[int, int] | None:
    """(server's clock minus host's, uncertainty) in ns, out of heard minus read; None without a reading.

    A reading cannot be heard before it was sent, so the smallest distance is nearest to the truth; it still
    holds the way back, which is at most the shortest round trip. A reading that is rounded up looks up to
    `early_ns` nearer than it is. What may be nothing is taken for nothing.
    """
    if not distances:
        return None
    sending = SENDING_NS if len(distances) >= ENOUGH_READINGS else SENDING_ONCE_NS
    slack = int(round_trip_ms * 1e6) + sending
    offset = min(distances) + (early_ns - slack) // 2
    uncertainty = (early_ns + slack + 1) // 2
    return (offset if abs(offset) > uncertainty else 0), uncertainty


def boottime_distances(clock: ClockMap, clocks: Sequence[Json]) -> list[int]:
    """Heard minus read for every reading, by the boottime clock of the untied `clock`.

    The wall clock may be set in the middle of a capture; what it then shows is no measure of how far away
    the server is. The boottime clock goes on, and is what `clock` ties to the server.
    """
    found = []
    for one in clocks:
        sample = ClockSample.of_record(one["fields"])
        if sample is None:
            continue
        if sample.boot is not None:
            read = clock.to_utc("boottime", np.array([sample.boot.high], np.int64))
        else:
            assert sample.monotonic is not None, "a sample has one of the two"
            read = clock.to_utc("monotonic", np.array([sample.monotonic.high], np.int64))
        found.append(one["heard_ns"] - int(read[0]))
    return found


def clock_of_session(home: Homecoming) -> Json | None:
    """What is stored as `Run.clock`; also brings the times of the outcomes to UTC."""
    clock = ClockMap.from_records(one["fields"] for one in home.clocks)
    trip_ms = min(home.round_trips_ms, default=home.timings.get("connect_ms", DEFAULT_ROUND_TRIP_MS))
    # The second bound of boottime is rounded up by the grain of the uptime.
    tied = server_offset(boottime_distances(clock, home.clocks), trip_ms, early_ns=UPTIME_GRAIN_NS)
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

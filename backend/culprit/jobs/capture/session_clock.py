"""Map the clock of a host to the clock of the server."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.clock.mapping import UPTIME_GRAIN_NS, ClockMap, ClockSample
from culprit.jobs.capture.session_result import SessionResult
from culprit.json_types import Json

# Between reading the wall clock and sending it, the host runs a few commands; the fastest take less.
SENDING_NS = 5_000_000
SENDING_ONCE_NS = 25_000_000
MIN_READINGS = 3
DEFAULT_ROUND_TRIP_MS = 200.0


def estimate_server_offset(
    distances: Sequence[int], round_trip_ms: float, *, early_ns: int = 0
) -> tuple[int, int] | None:
    """Return (server's clock minus host's, uncertainty) in ns, or None without a reading.

    `distances` are received minus read times in ns. A reading is received after it was sent, so the smallest
    distance is closest to the true offset. It still includes the network delay, which is at most the shortest
    round trip. A reading that is rounded up appears up to `early_ns` closer than it is. An offset that may be
    zero is returned as zero.
    """
    if not distances:
        return None
    sending = SENDING_NS if len(distances) >= MIN_READINGS else SENDING_ONCE_NS
    slack = int(round_trip_ms * 1e6) + sending
    offset = min(distances) + (early_ns - slack) // 2
    uncertainty = (early_ns + slack + 1) // 2
    return (offset if abs(offset) > uncertainty else 0), uncertainty


def measure_boottime_distances(clock: ClockMap, clocks: Sequence[Json]) -> list[int]:
    """Return received minus read for every reading, by the boottime clock.

    The wall clock may be set during a capture, which would distort the distance. The boottime clock is
    continuous, and `clock` maps it to the server.
    """
    distances_ns = []
    for reading in clocks:
        sample = ClockSample.of_record(reading["fields"])
        if sample is None:
            continue
        if sample.boot is not None:
            read = clock.to_utc("boottime", np.array([sample.boot.high], np.int64))
        else:
            assert sample.monotonic is not None, "a sample has one of the two"
            read = clock.to_utc("monotonic", np.array([sample.monotonic.high], np.int64))
        distances_ns.append(reading["received_ns"] - int(read[0]))
    return distances_ns


def map_session_clock(result: SessionResult) -> Json | None:
    """Return the value of `Run.clock`, and convert the times of the outcomes to UTC."""
    clock = ClockMap.from_records(reading["fields"] for reading in result.output.clocks)
    trip_ms = min(
        result.connection.round_trips_ms,
        default=result.connection.timings.get("connect_ms", DEFAULT_ROUND_TRIP_MS),
    )
    # The second bound of boottime is rounded up by the resolution of the uptime.
    tied = estimate_server_offset(
        measure_boottime_distances(clock, result.output.clocks), trip_ms, early_ns=UPTIME_GRAIN_NS
    )
    if tied is not None:
        clock = clock.with_server_offset(*tied)
    for outcome in result.output.outcomes.values():
        for name in ("started_ns", "ended_ns"):
            outcome[name] = _to_utc(clock, outcome[name])
    return clock.to_json() if clock.known else None


def _to_utc(clock: ClockMap, boot_ns: int) -> int | None:
    if not clock.known or not 0 < boot_ns < 1 << 60:
        return None
    return int(clock.to_utc("boottime", np.array([boot_ns], np.int64))[0])

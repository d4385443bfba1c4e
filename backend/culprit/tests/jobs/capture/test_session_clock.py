"""Offset of a host's clock, while its wall clock changes."""

import numpy as np
import pytest
from culprit.jobs.capture.session_clock import map_session_clock
from culprit.jobs.capture.session_result import ConnectionStats, RunnerOutput, SessionResult
from hypothesis import example, given
from hypothesis import strategies as st

from collectors.clock.mapping import ClockMap

S = 10**9
MS = 10**6
BOOTED = 1_790_000_000 * S
TRIP_MS = 4.0


def build_result(ahead: list[int], ways_back: list[int], *, boottime: bool = True) -> SessionResult:
    """Return one reading every ten seconds: offset of the wall clock, and network delay of the frame."""
    result = SessionResult(connection=ConnectionStats(round_trips_ms=[TRIP_MS]))
    for turn, (wrong, way) in enumerate(zip(ahead, ways_back, strict=True)):
        boot = (500 + 10 * turn) * S + 3 * MS
        tick = boot // (10 * MS) * 10 * MS
        fields = {
            "bt0": str(tick) if boottime else "-", "bt1": str(tick + 10 * MS) if boottime else "-",
            "m0": str(boot - MS // 10), "m1": str(boot + MS // 10), "real": str(BOOTED + boot + wrong), "res": "1",
        }  # fmt: skip
        result.output.clocks.append({"fields": fields, "received_ns": BOOTED + boot + way})
    return result


def off_by(clock: ClockMap, boot_ns: int) -> int:
    return int(clock.to_utc("boottime", np.array([boot_ns], np.int64))[0]) - (BOOTED + boot_ns)


wrongs = st.integers(-3600 * S, 3600 * S)
# The fastest of several readings arrives within a round trip and the few commands before it.
ways = st.lists(st.integers(MS, 400 * MS), min_size=2, max_size=4).map(lambda some: [3 * MS, *some])


@given(wrongs, wrongs.filter(lambda size: abs(size) > 100 * MS), ways, st.booleans())
@example(0, 30 * S, [3 * MS] * 4, True)
@example(0, -30 * S, [3 * MS] * 4, True)
def test_a_step_inside_a_capture_does_not_spoil_the_offset(wrong, step, ways, boottime):
    ahead = [wrong if turn < 2 else wrong + step for turn in range(len(ways))]
    stored = map_session_clock(build_result(ahead, ways, boottime=boottime))
    clock = ClockMap.from_json(stored)
    assert abs(off_by(clock, 505 * S)) <= clock.uncertainty("boottime") < 100 * MS
    assert len(clock.steps) == 1


@pytest.mark.parametrize("wrong", [0, 5 * S, -5 * S])
def test_clock_offset_of_steady_clock_is_measured(wrong):
    stored = map_session_clock(build_result([wrong] * 3, [3 * MS] * 3))
    assert abs(stored["offset_ms"] * MS - wrong) < 15 * MS
    assert abs(off_by(ClockMap.from_json(stored), 505 * S)) < 15 * MS


def test_readings_that_make_no_sense_tie_nothing():
    result = SessionResult(
        RunnerOutput(clocks=[{"fields": {"real": "77", "bt0": "-", "bt1": "-"}, "received_ns": BOOTED}])
    )
    assert map_session_clock(result) is None

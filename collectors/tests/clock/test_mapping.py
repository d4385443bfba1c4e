"""Clocks: bounds hold for every change of the host's wall clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from collectors.clock.mapping import ClockMap

S, MS = 10**9, 10**6


class Host:
    """A host whose wall clock is wrong and may be set; times are true UTC nanoseconds since it booted."""

    def __init__(
        self, booted_ns: int, wrong_ns: int, steps: list[tuple[int, int]], suspended_ns: int = 0
    ) -> None:
        self.booted_ns, self.wrong_ns, self.steps, self.suspended_ns = (
            booted_ns,
            wrong_ns,
            steps,
            suspended_ns,
        )

    def realtime(self, boot_ns: int) -> int:
        set_by = sum(size for at, size in self.steps if at <= boot_ns)
        return self.booted_ns + boot_ns + self.wrong_ns + set_by

    def record(
        self, boot_ns: int, delay_ns: int, *, grain: int = 1, monotonic: bool = True
    ) -> dict[str, str]:
        """What the runner would print: uptime floored, read, and ceiled; a fork of `date` in between."""
        real_at, end = boot_ns + delay_ns // 2, boot_ns + delay_ns
        return {
            "bt0": str(boot_ns // (10 * MS) * 10 * MS),
            "bt1": str((end // (10 * MS) + 1) * 10 * MS),
            "m0": str(boot_ns - self.suspended_ns) if monotonic else "-",
            "m1": str(end - self.suspended_ns) if monotonic else "-",
            "real": str(self.realtime(real_at) // grain * grain),
            "res": str(grain),
            "src": "date",
            "edge": "0",
        }


hosts = st.builds(
    Host,
    st.integers(1_600_000_000, 2_000_000_000).map(lambda s: s * S),
    st.integers(-3600 * S, 3600 * S),
    st.lists(
        st.tuples(
            st.integers(1001 * S, 1029 * S),
            st.one_of(st.integers(1 * S, 3600 * S), st.integers(-3600 * S, -1 * S)),
        ),
        max_size=2,
    ),
    st.sampled_from([0, 0, 5 * S, 86_400 * S]).filter(lambda s: s < 1000 * S),
)
reading = st.fixed_dictionaries(
    {
        "grain": st.sampled_from([1, 1_000, S]),
        "monotonic": st.booleans(),
        "delay": st.integers(100_000, 200 * MS),
    }
)


def records(host: Host, readings: list[dict[str, object]]) -> list[dict[str, str]]:
    spread = np.linspace(1000 * S, 1030 * S, len(readings)).astype(int)
    return [
        host.record(int(at), int(r["delay"]), grain=int(r["grain"]), monotonic=bool(r["monotonic"]))
        for at, r in zip(spread, readings, strict=True)
    ]


@settings(max_examples=200, deadline=None)
@given(hosts, st.lists(reading, min_size=2, max_size=6), st.integers(0, 200 * MS), st.data())
def test_error_stays_within_the_stated_uncertainty(
    host: Host, readings: list[dict[str, object]], rtt: int, data: st.DataObject
) -> None:
    """Tied to the server, every boottime is right within its uncertainty, through steps of 1 s to 1 h."""
    # What is set by less than the grain of the readings around it cannot be detected.
    reported_at = np.linspace(1000 * S, 1030 * S, len(readings)).astype(int)
    ahead = [
        host.realtime(at) - at
        for at in (int(t) + int(str(r["delay"])) // 2 for t, r in zip(reported_at, readings, strict=True))
    ]
    moved = np.diff(ahead)
    assume(np.all((moved == 0) | (np.abs(moved) > 1500 * MS)))
    reported_records = ClockMap.from_records(records(host, readings))
    true_offset = host.booted_ns - (host.booted_ns + host.wrong_ns)
    measured = true_offset + data.draw(st.integers(-rtt // 2, rtt // 2))
    clock = reported_records.with_server_offset(measured, rtt // 2 + 1)
    boot = np.array(
        sorted(data.draw(st.lists(st.integers(990 * S, 1040 * S), min_size=1, max_size=20))), np.int64
    )
    utc = clock.to_utc("boottime", boot)
    assert np.all(np.diff(utc) == np.diff(boot))
    assert np.all(np.abs(utc - (boot + host.booted_ns)) <= clock.uncertainty("boottime"))


@settings(max_examples=200, deadline=None)
@given(hosts, st.lists(st.integers(100_000, 30 * MS), min_size=3, max_size=8))
def test_steps_between_readings_are_flagged(host: Host, delays: list[int]) -> None:
    """Every stretch between two readings in which the clock moved by more than 50 ms, and no other."""
    taken = records(host, [{"grain": 1, "monotonic": True, "delay": d} for d in delays])
    spread = np.linspace(1000 * S, 1030 * S, len(delays)).astype(int)
    clock = ClockMap.from_records(taken)
    bounds = [int(at) for at in spread]
    gaps = [sum(bound < at for bound in bounds) for at, _ in host.steps]
    inside = any(
        0 <= at - item <= delay for at, _ in host.steps for item, delay in zip(bounds, delays, strict=True)
    )
    if inside or len(set(gaps)) < len(gaps):
        return  # a step in the middle of a reading, or two between the same two readings
    moved = [size for at, size in sorted(host.steps) if bounds[0] < at <= bounds[-1]]
    assert len(clock.steps) == len(moved)
    for step, size in zip(clock.steps, moved, strict=True):
        assert abs(step.size_ns - size) <= 40 * MS
    assert len(clock.events()) == len(moved)


@settings(max_examples=100, deadline=None)
@given(hosts, st.lists(st.integers(100_000, 30 * MS), min_size=2, max_size=5))
def test_monotonic_and_boottime_agree(host: Host, delays: list[int]) -> None:
    """A monotonic reading maps to the same instant as the boottime reading taken with it."""
    clock = ClockMap.from_records(
        records(host, [{"grain": 1, "monotonic": True, "delay": d} for d in delays])
    )
    boot = np.array([1015 * S], np.int64)
    by_boot = clock.to_utc("boottime", boot)
    by_monotonic = clock.to_utc("monotonic", boot - host.suspended_ns)
    assert abs(int(by_boot[0] - by_monotonic[0])) <= clock.uncertainty("monotonic") + 10 * MS


def test_perfs_own_pair_is_the_narrowest() -> None:
    """With it, the uncertainty of samples is far below a millisecond."""
    host = Host(1_700_000_000 * S, 0, [])
    clock = ClockMap.from_records([host.record(1000 * S, 20 * MS)])
    assert clock.source == "timer_list"
    reference = {"realtime_ns": host.realtime(1005 * S + 123) // 1000 * 1000, "monotonic_ns": 1005 * S + 123}
    narrow = clock.with_perf_reference(reference)
    assert narrow.source == "perf"
    assert narrow.uncertainty("monotonic") < 100_000 < clock.uncertainty("monotonic")
    stored = ClockMap.from_json(narrow.to_json())
    assert stored == narrow


def test_realtime_stamps_around_a_step() -> None:
    """A wall-clock time before and after a step of an hour maps to the same straight line."""
    host = Host(1_700_000_000 * S, 0, [(1010 * S, 3600 * S)])
    clock = ClockMap.from_records([host.record(at * S, MS) for at in (1000, 1009, 1011, 1020)])
    stamps = np.array([host.realtime(1005 * S), host.realtime(1015 * S)], np.int64)
    utc = clock.to_utc("realtime", stamps)
    assert abs(int(utc[1] - utc[0]) - 10 * S) < 2 * MS
    [step] = clock.steps
    assert step.boot.low <= 1010 * S <= step.boot.high
    assert abs(step.size_ns - 3600 * S) < 2 * MS


def test_slewing_is_no_step() -> None:
    """A wall clock that moves by less than 50 ms is left alone."""
    host = Host(1_700_000_000 * S, 0, [(1010 * S, 20 * MS)])
    clock = ClockMap.from_records([host.record(at * S, MS) for at in (1000, 1020)])
    assert clock.steps == () and clock.known


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"bt0": "1", "bt1": "0", "m0": "-", "m1": "-", "real": "1", "res": "1"},
        {"bt0": "9" * 30, "bt1": "9" * 30, "real": "1", "res": "1"},
        {"bt0": "0", "bt1": str(1 << 61), "real": "1", "res": "1"},
        {"bt0": "0", "bt1": "1", "real": "-5", "res": "1"},
        {"bt0": "0", "bt1": "1", "real": "000", "res": "1000"},
    ],
)
def test_records_without_sense_are_left_out(record: dict[str, str]) -> None:
    """They know nothing, and times stay as they are."""
    clock = ClockMap.from_records([record])
    assert not clock.known
    assert clock.to_utc("boottime", np.array([5], np.int64)).tolist() == [5]
    assert ClockMap.from_json(None).to_json()["uncertainty_ms"] is None


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["bt0", "bt1", "m0", "m1", "real", "res", "src", "edge"]),
            st.one_of(st.text(max_size=30), st.integers(-(2**70), 2**70).map(str)),
        ),
        max_size=6,
    )
)
def test_any_record_is_accepted(clock_records: list[dict[str, str]]) -> None:
    """A hostile host writes what it likes."""
    clock = ClockMap.from_json(ClockMap.from_records(clock_records).to_json())
    for kind in ("boottime", "monotonic", "realtime"):
        clock.to_utc(kind, np.array([0, 1 << 60], np.int64))
    clock.events()

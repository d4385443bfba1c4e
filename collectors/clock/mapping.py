"""A host's clocks and UTC: from readings that bound each other to one mapping with its uncertainty.

The runner reads CLOCK_REALTIME between two readings of the uptime (CLOCK_BOOTTIME) and, where it may,
between two of /proc/timer_list (CLOCK_MONOTONIC). Each reading bounds how far the wall clock is ahead. NTP
slews all of these clocks together, so that the distance changes only when the wall clock is set.
That is a step. One that is smaller than the grain of the readings around it (1 s on a host whose `date` knows no
fractions) cannot be detected.

Canonical time runs with the boottime clock and is tied to UTC once: to the host's wall clock as it was at the
first reading, or to the server's clock where the caller has measured the distance (`with_server_offset`). A
step of the wall clock in the middle of a capture therefore moves nothing; it is only reported.

perf's own pair (CLOCK_REALTIME and CLOCK_MONOTONIC read back to back, in its header) is the narrowest
reading, then /proc/timer_list, then the uptime with its grain of 10 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from collectors.clock.readings import ClockSample, TimeBounds
from collectors.contract import ClockKind, Event, Sentence, Times

__all__ = ["ClockMap", "ClockSample", "ClockStep"]

STEP_NS = 50_000_000
#: The grain of /proc/uptime: a time that was read from it may be this much early.
UPTIME_GRAIN_NS = 10_000_000
#: Nothing is suspended for less than this: a smaller distance of boottime and monotonic is none.
_NEVER_SUSPENDED_NS = 1_000_000_000
#: Readings of whole seconds bound too loosely to be believed together.
_COARSE_NS = 500_000_000
#: How far a clock without synchronization may run off, while it is tied to UTC at one moment only.
_DRIFT_PPM = 50
_UNKNOWN_NS = 1 << 61
_MAX_BASE_NS = (1 << 62) - 1
_MAX_RECORDS = 1_000
_NONE = TimeBounds(0, 0)
_SOURCES = ("perf", "timer_list", "uptime")


@dataclass(frozen=True, slots=True)
class ClockStep:
    """The wall clock was set by `size_ns`, at a boottime between the two bounds."""

    boot: TimeBounds
    size_ns: int


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch of boottime in which the wall clock was not set: `ahead` of boottime by this much."""

    ahead: TimeBounds
    first_boot_ns: int
    last_boot_ns: int


@dataclass(frozen=True, slots=True)
class ClockMap:
    """Turns readings of a host's clocks into UTC. Immutable; `records` are the raw readings behind it."""

    segments: tuple[_Segment, ...] = ()
    suspended: TimeBounds = _NONE
    source: str = "none"
    server_offset_ns: int | None = None
    server_uncertainty_ns: int = 0
    records: tuple[Mapping[str, str], ...] = ()
    perf: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def from_records(
        cls, records: Iterable[Mapping[str, str]], perf: Mapping[str, object] | None = None
    ) -> ClockMap:
        """The mapping out of the runner's clock records and perf's pair, where there is one."""
        stored_records = tuple(
            {k: str(v) for k, v in record.items()} for record in islice(records, _MAX_RECORDS)
        )
        samples = [ClockSample.of_record(record) for record in stored_records]
        samples.append(ClockSample.of_perf(perf) if perf else None)
        new_samples = cls.from_samples([sample for sample in samples if sample is not None])
        return replace(new_samples, records=stored_records, perf=dict(perf or {}))

    @classmethod
    def from_samples(cls, samples: Sequence[ClockSample]) -> ClockMap:
        """The mapping out of readings in any order; without any, times stay as they are."""
        suspended = _suspended_bounds(samples)
        ordered = sorted(
            ((_boot_bounds(sample, suspended), sample) for sample in samples), key=lambda pair: pair[0].low
        )
        segments: list[_Segment] = []
        for boot, sample in ordered:
            ahead = sample.ahead_of(boot)
            last = segments[-1] if segments else None
            met = last.ahead.meet(ahead) if last else None
            if last is None or met is None:
                segments.append(_Segment(ahead, boot.middle, boot.middle))
            else:
                coarse = sample.grain_ns >= _COARSE_NS
                segments[-1] = replace(last, ahead=last.ahead if coarse else met, last_boot_ns=boot.middle)
        present = {sample.source for sample in samples}
        source = next((name for name in _SOURCES if name in present), "none")
        return cls(tuple(segments), suspended, source)

    def with_server_offset(self, offset_ns: int, uncertainty_ns: int) -> ClockMap:
        """The same, tied to the server: `offset_ns` is its clock minus the host's wall clock at the start."""
        return replace(self, server_offset_ns=offset_ns, server_uncertainty_ns=max(0, uncertainty_ns))

    def with_perf_reference(self, reference: Mapping[str, object]) -> ClockMap:
        """The same, made narrower by perf's own pair (the fact `perf_reference` of a perf collector)."""
        records = ClockMap.from_records(self.records, reference)
        if self.server_offset_ns is None:
            return records
        return records.with_server_offset(self.server_offset_ns, self.server_uncertainty_ns)

    def to_utc(self, kind: ClockKind, ns: Times) -> Times:
        """UTC nanoseconds for readings of the host's clock, [n] → [n].

        `boottime` and `monotonic` keep their order and distances. `realtime` is mapped by the stretch between
        steps that contains the reading, so it may run back where the wall clock did.
        """
        times = np.asarray(ns, np.int64)
        if not self.segments:
            return times
        base = self.segments[0].ahead.middle + (self.server_offset_ns or 0)
        base = max(-_MAX_BASE_NS, min(_MAX_BASE_NS, base))
        if kind == "boottime":
            return times + base
        if kind == "monotonic":
            since_boot: Times = times + self.suspended.middle
            by_monotonic: Times = since_boot + base
            return by_monotonic
        ahead = np.array([segment.ahead.middle for segment in self.segments], np.int64)
        mapped: Times = times - ahead[self._segment_of(times)] + base
        return mapped

    def _segment_of(self, realtime: Times) -> Times:
        """Index of the stretch whose wall-clock times are nearest to each reading, the earlier if two fit."""
        distances = []
        for at, item in enumerate(self.segments):
            first = item.first_boot_ns + item.ahead.middle
            last = item.last_boot_ns + item.ahead.middle
            low = np.where(at == 0, np.int64(0), np.maximum(first - realtime, 0))
            high = np.where(at == len(self.segments) - 1, np.int64(0), np.maximum(realtime - last, 0))
            distances.append(np.maximum(low, high))
        nearest: Times = np.argmin(np.stack(distances), axis=0).astype(np.int64)
        return nearest

    def uncertainty(self, kind: ClockKind) -> int:
        """How far a time out of `to_utc` may be off, in nanoseconds, with the grain of reading the clock."""
        if not self.segments:
            return _UNKNOWN_NS
        span = self.segments[-1].last_boot_ns - self.segments[0].first_boot_ns
        drift = span * _DRIFT_PPM // 1_000_000 if self.server_offset_ns is not None else 0
        tied = self.segments[0].ahead.half + self.server_uncertainty_ns + drift
        if kind == "monotonic":
            return tied + self.suspended.half
        return (
            tied + UPTIME_GRAIN_NS if kind == "boottime" else tied + max(s.ahead.half for s in self.segments)
        )

    @property
    def uncertainty_ns(self) -> int:
        """That of times which were read from the uptime, the coarsest of the sources of series."""
        return self.uncertainty("boottime")

    @property
    def known(self) -> bool:
        """Whether anything ties these clocks to UTC."""
        return bool(self.segments)

    @property
    def steps(self) -> tuple[ClockStep, ...]:
        """Every time that the wall clock was set by more than 50 ms between two readings."""
        results = []
        for before, after in zip(self.segments, self.segments[1:], strict=False):
            size = after.ahead.middle - before.ahead.middle
            if abs(size) + before.ahead.half + after.ahead.half > STEP_NS:
                results.append(ClockStep(TimeBounds(before.last_boot_ns, after.first_boot_ns), size))
        return tuple(results)

    def events(self) -> tuple[Event, ...]:
        """The steps as events, each over the span in which it may have happened."""
        results = []
        for step in self.steps:
            span = self.to_utc("boottime", np.array([step.boot.low, step.boot.high], np.int64))
            size_ms = round(step.size_ns / 1e6, 1)
            title = Sentence("event.clock_step", {"milliseconds": size_ms})
            results.append(
                Event(int(span[0]), "clock_step", "warn", title, end_ns=int(span[1]), part="clock", line=None)
            )
        return tuple(results)

    def to_json(self) -> dict[str, object]:
        """What a run stores: the answer's figures, and the raw readings that they were made from."""
        offset = self.server_offset_ns
        return {  # offset_ms: how far the host's wall clock is ahead of the server's
            "source": self.source,
            "known": self.known,
            "uncertainty_ns": self.uncertainty_ns,
            "uncertainty_ms": round(self.uncertainty_ns / 1e6, 3) if self.known else None,
            "offset_ms": None if offset is None else round(-offset / 1e6, 3),
            "server_offset_ns": offset,
            "server_uncertainty_ns": self.server_uncertainty_ns,
            "steps": [
                {
                    "from_boot_ns": step.boot.low,
                    "to_boot_ns": step.boot.high,
                    "size_ms": round(step.size_ns / 1e6, 3),
                }
                for step in self.steps
            ],
            "records": [dict(record) for record in self.records],
            "perf_reference": dict(self.perf),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, object] | None) -> ClockMap:
        """The mapping that `to_json` stored; one that knows nothing where there is none."""
        if not stored:
            return cls()
        records, perf = stored.get("records"), stored.get("perf_reference")
        listed = (
            [record for record in records if isinstance(record, Mapping)] if isinstance(records, list) else []
        )
        new_records = cls.from_records(listed, perf if isinstance(perf, Mapping) else None)
        offset, uncertainty = stored.get("server_offset_ns"), stored.get("server_uncertainty_ns")
        if isinstance(offset, int):
            new_records = new_records.with_server_offset(
                offset, uncertainty if isinstance(uncertainty, int) else 0
            )
        return new_records


def _boot_bounds(sample: ClockSample, suspended: TimeBounds) -> TimeBounds:
    """When a reading was taken, by the boottime clock, as narrowly as both clocks allow."""
    if sample.monotonic is None:
        return sample.boot or TimeBounds(0, 0)
    by_monotonic = TimeBounds(sample.monotonic.low + suspended.low, sample.monotonic.high + suspended.high)
    return by_monotonic if sample.boot is None else sample.boot.meet(by_monotonic) or sample.boot


def _suspended_bounds(samples: Sequence[ClockSample]) -> TimeBounds:
    """How far boottime is ahead of monotonic: the time that the host was suspended since boot.

    The uptime was read before the first monotonic reading and again after the second, so that both bounds
    hold however long the reading took. What allows for none, and for little else, is none.
    """
    known: TimeBounds | None = None
    for sample in samples:
        boot, monotonic = sample.boot, sample.monotonic
        if boot is None or monotonic is None or boot.high - monotonic.high < boot.low - monotonic.low:
            continue
        bounds = TimeBounds(boot.low - monotonic.low, boot.high - monotonic.high)
        known = (known.meet(bounds) if known else bounds) or known
    if known is None or (known.low <= 0 <= known.high and known.high < _NEVER_SUSPENDED_NS):
        return TimeBounds(0, 0)
    return known

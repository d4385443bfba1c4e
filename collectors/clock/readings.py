"""One reading of a host's clocks, as bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.parse.tables.tokens import parse_whole

#: The fields of the runner's clock record; see host/PROTOCOL.md.
RECORD_FIELDS = ("seq", "at", "bt0", "bt1", "m0", "m1", "real", "res", "src", "edge")
_MAX_UPTIME_NS = 1 << 60
_MAX_REALTIME_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """A number that is known to lie between two others, in nanoseconds."""

    low: int
    high: int

    @property
    def middle(self) -> int:
        """The best guess."""
        return (self.low + self.high) // 2

    @property
    def half(self) -> int:
        """How far the guess may be off."""
        return (self.high - self.low + 1) // 2

    def meet(self, other: TimeBounds) -> TimeBounds | None:
        """What both allow; None where they contradict each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return TimeBounds(low, high) if low <= high else None

    def moved(self, ns: int) -> TimeBounds:
        """The same bounds, later by `ns`."""
        return TimeBounds(self.low + ns, self.high + ns)


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One reading of the wall clock between readings of other clocks; None where the host does not report it.

    `realtime_ns` is truncated to `grain_ns`. The bounds of boottime lie around those of monotonic, and both
    around the reading of the wall clock.
    """

    realtime_ns: int
    grain_ns: int
    boot: TimeBounds | None = None
    monotonic: TimeBounds | None = None
    source: str = "uptime"

    @classmethod
    def of_record(cls, record: Mapping[str, str]) -> ClockSample | None:
        """The runner's clock record; None for one that makes no sense."""
        real, grain = _number(record.get("real")), _number(record.get("res"))
        boot = _bounds(record.get("bt0"), record.get("bt1"))
        monotonic = _bounds(record.get("m0"), record.get("m1"))
        if not real or grain is None or (boot is None and monotonic is None):
            return None
        if any(boot is not None and boot.high > _MAX_UPTIME_NS for boot in (boot, monotonic)):
            return None
        source = "timer_list" if monotonic else "uptime"
        return cls(real, min(grain, 10**9), boot, monotonic, source)

    @classmethod
    def of_perf(cls, reference: Mapping[str, object]) -> ClockSample | None:
        """perf's own pair, as the fact `perf_reference` of a perf collector holds it."""
        real, monotonic = reference.get("realtime_ns"), reference.get("monotonic_ns")
        if not isinstance(real, int) or not isinstance(monotonic, int):
            return None
        if not (0 <= real <= _MAX_REALTIME_NS and 0 <= monotonic <= _MAX_UPTIME_NS):
            return None
        # perf reads the two within a microsecond of each other; an interrupt between them may cost more.
        return cls(real, 1_000, None, TimeBounds(monotonic - 50_000, monotonic + 50_000), "perf")

    def ahead_of(self, clock: TimeBounds) -> TimeBounds:
        """How far the wall clock is ahead of a clock that was read around it."""
        return TimeBounds(self.realtime_ns - clock.high, self.realtime_ns + self.grain_ns - clock.low)


def _number(text: str | None) -> int | None:
    return parse_whole(text.encode("ascii", "replace")) if text is not None else None


def _bounds(low: str | None, high: str | None) -> TimeBounds | None:
    first, last = _number(low), _number(high)
    return TimeBounds(first, last) if first is not None and last is not None and first <= last else None

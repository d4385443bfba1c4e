"""Which of a group of machines that do the same is unlike the others: median, MAD, robust z.

Half of a group may be sick before its median moves (the mean moves with the first), so a host is compared with
the group that it is in. Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993): z = 0.6745 (x - median)
/ MAD; beyond 3.5 is an outlier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

OUTLIER_Z = 3.5
#: The MAD of a normal distribution, in standard deviations.
SCALE = 0.6745
#: Peers besides oneself; of fewer nobody can say which one is the odd one.
LEAST_PEERS = 4
#: Machines that agree to within 2 % of their median agree: a step of z is never less.
LEAST_SHARE = 0.02
#: Where all the others are equal any difference is infinitely unusual; that is drawn at this z.
MOST = 100.0
#: Numbers beyond this are no measurement, and differences of them would overflow.
HUGE = 1e300


@dataclass(frozen=True, slots=True)
class Spread:
    """A group in three numbers: how many, their median, and what one step of z is worth in their unit."""

    n: int
    median: float
    step: float

    def z(self, value: float) -> float:
        """How far `value` is from the median, in steps, at most ±100."""
        away = value - self.median
        if away == 0:
            return 0.0
        if self.step == 0:
            return math.copysign(MOST, away)
        return max(-MOST, min(away / self.step, MOST))


@dataclass(frozen=True, slots=True)
class Standing:
    """One machine in its group."""

    who: str
    value: float
    z: float

    @property
    def unlike(self) -> bool:
        """Whether it counts as an outlier."""
        return abs(self.z) > OUTLIER_Z


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure over a group: the most unusual machine first."""

    measure: str
    spread: Spread
    standings: tuple[Standing, ...]

    @property
    def most(self) -> float:
        """How unusual the most unusual one is."""
        return abs(self.standings[0].z)


def known(value: float) -> bool:
    """Whether a number says anything: NaN is no data."""
    return abs(value) <= HUGE


def spread(values: Iterable[float], least: float = 0.0) -> Spread | None:
    """Median and step of what is known (see `known`); None with fewer than 4 peers.

    `least` is the smallest step that means anything in the unit: of hosts at 0, 0 and 0.1 % none stands out. Where more
    than half are equal the MAD is 0 and the step is the least one.
    """
    group = np.array([value for value in values if known(value)], float)
    if len(group) <= LEAST_PEERS:
        return None
    median = float(np.median(group))
    mad = float(np.median(np.abs(group - median)))
    return Spread(len(group), median, max(mad / SCALE, LEAST_SHARE * abs(median), least))


def compare(measure: str, values: Mapping[str, float], least: float = 0.0) -> Compared | None:
    """Everybody's standing in one measure, by how unusual it is, then by name; None with fewer than 4 peers."""
    group = spread(values.values(), least)
    if group is None:
        return None
    found = [Standing(who, value, group.z(value)) for who, value in values.items() if known(value)]
    return Compared(measure, group, tuple(sorted(found, key=lambda one: (-abs(one.z), one.who))))


def most_unusual(compared: Iterable[Compared]) -> list[Compared]:
    """The measures in which somebody is most unlike the others first; then by name."""
    return sorted(compared, key=lambda one: (-one.most, one.measure))

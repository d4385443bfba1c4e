"""Which of a group of machines that do the same is unlike the others: median, MAD, robust z.

Half of a group can be unhealthy before its median moves (the mean moves with the first), so each host is compared with
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
#: Peers apart from the host itself; with fewer, an outlier cannot be identified.
LEAST_PEERS = 4
#: Machines that agree to within 2 % of their median agree: a step of z is never less.
LEAST_SHARE = 0.02
#: If all the others are equal, any difference has an infinite z; charts draw it at this z.
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
class GroupMember:
    """One machine in its group."""

    name: str
    value: float
    z: float

    @property
    def is_outlier(self) -> bool:
        """Whether it counts as an outlier."""
        return abs(self.z) > OUTLIER_Z


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """One measure over a group: the most atypical host first."""

    measure: str
    spread: Spread
    members: tuple[GroupMember, ...]

    @property
    def max_deviation(self) -> float:
        """Return the greatest absolute z of the group."""
        return abs(self.members[0].z)


def is_measured(value: float) -> bool:
    """Return whether a number is data: NaN is no data."""
    return abs(value) <= HUGE


def compute_spread(values: Iterable[float], least: float = 0.0) -> Spread | None:
    """Median and step of what is known (see `known`); None with fewer than 4 peers.

    `least` is the smallest relevant step in the unit: of hosts at 0, 0 and 0.1 % none is an outlier. If more than
    half are equal, the MAD is 0 and the step is `least`.
    """
    group = np.array([value for value in values if is_measured(value)], float)
    if len(group) <= LEAST_PEERS:
        return None
    median = float(np.median(group))
    mad = float(np.median(np.abs(group - median)))
    return Spread(len(group), median, max(mad / SCALE, LEAST_SHARE * abs(median), least))


def compare_group(measure: str, values: Mapping[str, float], least: float = 0.0) -> GroupComparison | None:
    """Return the z of each host in one measure, the most atypical first, then by name; None with fewer than 4 peers."""
    group = compute_spread(values.values(), least)
    if group is None:
        return None
    group_members = [
        GroupMember(who, value, group.z(value)) for who, value in values.items() if is_measured(value)
    ]
    return GroupComparison(
        measure,
        group,
        tuple(sorted(group_members, key=lambda group_member: (-abs(group_member.z), group_member.name))),
    )


def sort_by_deviation(compared: Iterable[GroupComparison]) -> list[GroupComparison]:
    """Sort measures by their greatest deviation, then by name."""
    return sorted(compared, key=lambda item: (-item.max_deviation, item.measure))

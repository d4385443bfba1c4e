"""Detect outliers in a group of peers with the median, the MAD and the robust z-score.

The median is robust: up to half of the group can be unhealthy before it moves (the mean moves with the first), so each
host is compared with the group that contains it. Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993):
z = 0.6745 (x - median) / MAD; a host beyond 3.5 is an outlier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

OUTLIER_Z = 3.5
#: The MAD of a normal distribution, in standard deviations.
SCALE = 0.6745
#: Minimum number of peers apart from the host; with fewer, an outlier cannot be identified.
MIN_PEERS = 4
#: Minimum step of z, as a share of the median: hosts within 2 % of it are equal.
MIN_STEP_SHARE = 0.02
#: Maximum of z. If all other hosts are equal, any difference would have an infinite z.
MAX_Z = 100.0
#: Larger absolute numbers are no measurement, and their differences would overflow.
MAX_MAGNITUDE = 1e300


@dataclass(frozen=True, slots=True)
class Spread:
    """Size and median of a group, and the step of z in the unit of its values."""

    n: int
    median: float
    step: float

    def z(self, value: float) -> float:
        """Return the distance of `value` from the median in steps, at most ±100."""
        away = value - self.median
        if away == 0:
            return 0.0
        if self.step == 0:
            return math.copysign(MAX_Z, away)
        return max(-MAX_Z, min(away / self.step, MAX_Z))


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A host in its group."""

    name: str
    value: float
    z: float

    @property
    def is_outlier(self) -> bool:
        """Whether the host is an outlier."""
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
    """Return whether a number is data: not NaN and not beyond MAX_MAGNITUDE."""
    return abs(value) <= MAX_MAGNITUDE


def compute_spread(values: Iterable[float], least: float = 0.0) -> Spread | None:
    """Return the spread of the values that are data (see `is_measured`), or None with fewer than 4 peers.

    `least` is the smallest relevant step in the unit: of hosts at 0, 0 and 0.1 % none is an outlier. If more than
    half are equal, the MAD is 0 and the step is `least`.
    """
    group = np.array([value for value in values if is_measured(value)], float)
    if len(group) <= MIN_PEERS:
        return None
    median = float(np.median(group))
    mad = float(np.median(np.abs(group - median)))
    return Spread(len(group), median, max(mad / SCALE, MIN_STEP_SHARE * abs(median), least))


def compare_group(measure: str, values: Mapping[str, float], least: float = 0.0) -> GroupComparison | None:
    """Return the z of each host in one measure, the most atypical first, then by name; None with fewer than 4 peers."""
    spread = compute_spread(values.values(), least)
    if spread is None:
        return None
    members = [
        GroupMember(host, value, spread.z(value)) for host, value in values.items() if is_measured(value)
    ]
    return GroupComparison(
        measure,
        spread,
        tuple(sorted(members, key=lambda member: (-abs(member.z), member.name))),
    )


def sort_by_deviation(compared: Iterable[GroupComparison]) -> list[GroupComparison]:
    """Sort measures by their greatest deviation, then by name."""
    return sorted(compared, key=lambda item: (-item.max_deviation, item.measure))

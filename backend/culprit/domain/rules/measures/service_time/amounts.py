"""Amounts of a time account: mean numbers of threads and requests in one activity, with their bounds.

By Little's law the mean number of requests in an activity is proportional to the time that requests spend in it, so
shares of such numbers are shares of time, without following single requests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from culprit.domain.rules.finding import Citation
from culprit.domain.statistics.intervals import wilson_interval

Key = tuple[str, str]
"""Activity and target, such as ("peer", "10.0.0.7:5432"); the target is empty where there is none."""


@dataclass(frozen=True, slots=True)
class Amount:
    """The mean number of threads and requests in one activity, and the bounds within which it is.

    The bounds hold the sampling error and what could not be distinguished. `samples` is 0 for exact counters.
    `longest_ms` is the longest single wait that was seen, `operation` the most frequent system call.
    """

    number: float
    low: float
    high: float
    samples: int = 0
    longest_ms: float = 0.0
    operation: str = ""
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its bounds, 0 to 1."""

    value: float
    low: float
    high: float

    def scale(self, factor: float) -> Share:
        """Return the share of a share."""
        return Share(factor * self.value, factor * self.low, factor * self.high)


NO_SHARE = Share(0.0, 0.0, 0.0)


def add_amounts(amounts: Iterable[Amount]) -> Amount:
    """Return the sum.

    Distances to the bounds of sampled amounts add up as squares, because their errors are independent (MOVER: Zou and
    Donner 2008, Statistics in Medicine 27). What could not be distinguished adds up as it is.
    """
    items = list(amounts)
    number = sum(item.number for item in items)
    return Amount(
        number,
        max(0.0, number - _add_distances((item.number - item.low, item.samples) for item in items)),
        number + _add_distances((item.high - item.number, item.samples) for item in items),
        sum(item.samples for item in items),
        max((item.longest_ms for item in items), default=0.0),
        max(items, key=lambda item: item.number).operation if items else "",
        tuple(dict.fromkeys(citation for item in items for citation in item.citations)),
    )


def bound_sampled(number: float, samples: int, of_samples: int, of_threads: float) -> tuple[float, float]:
    """Return the bounds of a number that was seen in `samples` of `of_samples` samples of `of_threads` threads."""
    if not of_samples:
        return 0.0, of_threads
    low, high = wilson_interval(min(1.0, samples / of_samples), of_samples)
    return min(number, of_threads * low), max(number, of_threads * high)


def compute_share(amounts: Mapping[Key, Amount], is_part: Callable[[str, str], bool]) -> Share:
    """Return the share of the amounts that `is_part` selects by activity and target."""
    part = [amount for (activity, target), amount in amounts.items() if is_part(activity, target)]
    rest = [amount for (activity, target), amount in amounts.items() if not is_part(activity, target)]
    inside, outside = add_amounts(part), add_amounts(rest)
    total = inside.number + outside.number
    if not total:
        return Share(0.0, 0.0, 1.0)
    return Share(
        inside.number / total,
        _divide(inside.low, inside.low + outside.high),
        _divide(inside.high, inside.high + outside.low),
    )


def _add_distances(distances: Iterable[tuple[float, int]]) -> float:
    """Return the distance of a sum to its bound from those of its parts, each with its number of samples."""
    exact, squares = 0.0, 0.0
    for distance, samples in distances:
        exact += 0.0 if samples else distance
        squares += distance * distance if samples else 0.0
    return exact + math.sqrt(squares)


def _divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0

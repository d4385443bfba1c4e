"""Measurement windows of both sides of a fix: one per capture, with the number, the load and the failures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from collectors.contract import Values
from culprit.domain.statistics.correlated import Flags

Better = Literal["lower", "higher"]

MIN_WINDOWS = 3
MIN_SINGLE = 5
"""Minimum number of windows of a side if each has one block: with 3 and 3, every tenth random split is as extreme."""

BLOCK_S = 5
"""Readings (one per second) of a block."""


@dataclass(frozen=True, slots=True)
class MeasurementWindow:
    """One capture of the primary number.

    `values` float64 [n], usually one per second, NaN = no data; `t_s` float64 [n], their times in seconds. `block` is
    the number of values that count as one observation. `load` is the work done in that time, per second (successful
    responses, not requests); NaN if unknown. `failed` is the share of responses that failed, of `responses` in all;
    `utilization` is the busy share of the CPUs. NaN = not measured.
    """

    values: Values
    t_s: Values
    load: float
    block: int = BLOCK_S
    failed: float = math.nan
    responses: float = math.nan
    utilization: float = math.nan


@dataclass(frozen=True, slots=True)
class BlockSeries:
    """The blocks of several windows: `t_s`, `values` and `loads`, float64 [n], and `is_after`, bool [n]."""

    t_s: Values
    values: Values
    loads: Values
    is_after: Flags


@dataclass(frozen=True, slots=True)
class TimelineGaps:
    """How often the sides alternate, the longest time between two sides, and the time that is observed, in seconds."""

    switches: int
    longest_s: float
    observed_s: float


def count_blocks(window: MeasurementWindow) -> int:
    """Count the complete blocks of a window."""
    return int(np.isfinite(window.values).sum()) // window.block


def list_measured_windows(side: Sequence[MeasurementWindow]) -> list[MeasurementWindow]:
    """Return the windows with at least one block."""
    return [item for item in side if count_blocks(item)]


def count_required_windows(side: Sequence[MeasurementWindow]) -> int:
    """Return how many windows a side needs."""
    return MIN_SINGLE if any(count_blocks(item) == 1 for item in list_measured_windows(side)) else MIN_WINDOWS


def compute_mean_load(side: Sequence[MeasurementWindow]) -> float:
    """Return the mean load of the measured windows; NaN if one of them has none."""
    return float(np.mean([item.load for item in list_measured_windows(side)]))


def compute_relative_change(before: float, after: float) -> float:
    """Return the relative change; infinite if the value before is zero."""
    return (after - before) / before if before else (0.0 if after == before else math.inf)


def build_blocks(before: Sequence[MeasurementWindow], after: Sequence[MeasurementWindow]) -> BlockSeries:
    """Cut all windows into blocks, in the order of time."""
    rows = [
        (at, value, window.load, is_after)
        for is_after, side in ((False, before), (True, after))
        for window in list_measured_windows(side)
        for at, value in _split_into_blocks(window)
    ]
    table = np.array(sorted(rows), float)
    return BlockSeries(table[:, 0], table[:, 1], table[:, 2], table[:, 3] > 0)


def _split_into_blocks(window: MeasurementWindow) -> list[tuple[float, float]]:
    known = np.isfinite(window.values)
    count = count_blocks(window)
    return [
        (float(at.mean()), float(values.mean()))
        for at, values in zip(
            np.array_split(window.t_s[known], count), np.array_split(window.values[known], count), strict=True
        )
    ]


def subtract_control(blocks: BlockSeries, control: BlockSeries) -> BlockSeries | None:
    """Divide each block by the one of the control host nearest in time; None if fewer than four have one.

    A block of the control host that is further away than two blocks was not taken at the same time.
    """
    reach = 2.0 * BLOCK_S
    nearest = np.abs(blocks.t_s[:, None] - control.t_s[None, :]).argmin(axis=1)
    near = np.abs(control.t_s[nearest] - blocks.t_s) <= reach
    if near.sum() < 4 or len(set(blocks.is_after[near].tolist())) < 2:
        return None
    ratio = blocks.values[near] / control.values[nearest[near]]
    return BlockSeries(blocks.t_s[near], ratio, blocks.loads[near], blocks.is_after[near])


def measure_gaps(before: Sequence[MeasurementWindow], after: Sequence[MeasurementWindow]) -> TimelineGaps:
    """Measure the gaps between the sides, and the observed time."""
    return measure_span_gaps(
        [
            (float(np.nanmin(window.t_s)), float(np.nanmax(window.t_s)), is_after)
            for is_after, side in ((False, before), (True, after))
            for window in list_measured_windows(side)
        ]
    )


def measure_span_gaps(spans: Sequence[tuple[float, float, bool]]) -> TimelineGaps:
    """Measure the gaps and the observed time from (start, end, is_after) of each window, in seconds.

    A shift within the last block of a side is like a later one, so a block of each side counts as gap.
    """
    ordered = sorted(spans)
    gaps = [
        max(0.0, second[0] - first[1]) + 2 * BLOCK_S
        for first, second in pairwise(ordered)
        if first[2] is not second[2]
    ]
    total = max(end for _, end, _ in ordered) - ordered[0][0]
    return TimelineGaps(len(gaps), max(gaps, default=0.0), max(0.0, total - sum(gaps)))


def compute_required_observation_s(gaps: TimelineGaps, chance: float) -> float:
    """Return the total time in seconds that both sides must be observed to exclude random shifts as explanation.

    With random shifts at a rate r, the probability of a shift in each of k gaps of length g and of none in the observed
    time S is (r g)^k exp(-r S). The share 2^(1 - k) of it has the alternating directions that look like an effect.
    The rate with the highest probability is k / S; S follows from the allowed probability `chance`.
    """
    k = gaps.switches
    if k == 0:
        return math.inf
    return float(k * gaps.longest_s / (math.e * (chance * 2 ** (k - 1)) ** (1 / k)))

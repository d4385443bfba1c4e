"""Build strip plots: a number of each host of a group, for one capture of many hosts or for a fleet."""

from __future__ import annotations

import math
from collections.abc import Mapping

from culprit.domain.charts.bodies.figure import Figure, Label
from culprit.domain.charts.bodies.peer_strips import MAX_DOTS, HostDot, HostStrip
from culprit.domain.rules.peers import score_outlier
from culprit.domain.statistics.outliers import OUTLIER_Z, GroupComparison, compare_group


def build_strip(
    name: str, label: Label, figures: Mapping[str, Figure], own: str = "", least: float = 0.0
) -> HostStrip | None:
    """Build the strip of `figures` by host; None with fewer than two hosts. `own` is the host to mark.

    `least` is the smallest relevant step in the unit (see `statistics.outliers.compute_spread`). With fewer than five
    hosts there is no band, and a host is an outlier at twice the median of the others and well outside their range.
    """
    known = {host: item for host, item in figures.items() if math.isfinite(item.value)}
    if len(known) < 2:
        return None
    unit = next(iter(known.values())).unit
    result = compare_group(name, {host: item.value for host, item in known.items()}, least)
    dots = _score_outliers(result, known, own) if result is not None else _score_small_group(known, own)
    spread = result.spread if result is not None else None
    reach = spread.step * OUTLIER_Z if spread is not None else 0.0
    return HostStrip(
        name,
        label,
        unit,
        len(known),
        spread.median if spread else None,
        spread.median - reach if spread else None,
        spread.median + reach if spread else None,
        tuple(_limit_dots(dots)),
    )


def _score_outliers(
    group_comparison: GroupComparison, known: Mapping[str, Figure], own: str
) -> list[HostDot]:
    return [
        HostDot(member.name, known[member.name], round(member.z, 2), member.is_outlier, member.name == own)
        for member in group_comparison.members
    ]


def _score_small_group(known: Mapping[str, Figure], own: str) -> list[HostDot]:
    scores = {
        host: score_outlier(item.value, [other.value for name, other in known.items() if name != host])
        for host, item in known.items()
    }
    ranked = sorted(known, key=lambda host: (-scores[host], host))
    return [HostDot(host, known[host], None, scores[host] > 1, host == own) for host in ranked]


def _limit_dots(dots: list[HostDot]) -> list[HostDot]:
    """Limit the dots to MAX_DOTS: keep outliers and the own host, and evenly spaced others."""
    if len(dots) <= MAX_DOTS:
        return dots
    marked = [at for at, item in enumerate(dots) if item.unlike or item.own][:MAX_DOTS]
    rest = [at for at in range(len(dots)) if at not in frozenset(marked)]
    room = MAX_DOTS - len(marked)
    sampled = {rest[at * len(rest) // room] for at in range(room)} if room > 0 else set()
    return [dots[at] for at in sorted({*marked, *sampled})]

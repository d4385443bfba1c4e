"""A number of each host of a group as a strip of dots: for one capture of many hosts, and for a fleet."""

from __future__ import annotations

import math
from collections.abc import Mapping

from culprit.core.peers import OUTLIER_Z, Compared, compare
from culprit.core.rules.peers import outlying
from culprit.core.visuals.bodies.figure import Figure, Label
from culprit.core.visuals.bodies.peer_strips import MAX_DOTS, Dot, Strip


def strip(
    name: str, label: Label, figures: Mapping[str, Figure], own: str = "", least: float = 0.0
) -> Strip | None:
    """`figures` by host; `own` names the one that is asked about. None with fewer than two hosts.

    `least` is the smallest step that means anything in the unit (see `peers.compare`). Of fewer than five hosts there
    is no band, and one is unlike the others where it is twice their median and well outside of their range.
    """
    known = {host: one for host, one in figures.items() if math.isfinite(one.value)}
    if len(known) < 2:
        return None
    unit = next(iter(known.values())).unit
    found = compare(name, {host: one.value for host, one in known.items()}, least)
    dots = _of_many(found, known, own) if found is not None else _of_few(known, own)
    spread = found.spread if found is not None else None
    reach = spread.step * OUTLIER_Z if spread is not None else 0.0
    return Strip(
        name,
        label,
        unit,
        len(known),
        spread.median if spread else None,
        spread.median - reach if spread else None,
        spread.median + reach if spread else None,
        tuple(_thinned(dots)),
    )


def _of_many(found: Compared, known: Mapping[str, Figure], own: str) -> list[Dot]:
    return [
        Dot(one.who, known[one.who], round(one.z, 2), one.unlike, one.who == own) for one in found.standings
    ]


def _of_few(known: Mapping[str, Figure], own: str) -> list[Dot]:
    scores = {
        host: outlying(one.value, [other.value for name, other in known.items() if name != host])
        for host, one in known.items()
    }
    ranked = sorted(known, key=lambda host: (-scores[host], host))
    return [Dot(host, known[host], None, scores[host] > 1, host == own) for host in ranked]


def _thinned(dots: list[Dot]) -> list[Dot]:
    """All that stand out or are asked about, and as many evenly chosen others as there is room for."""
    if len(dots) <= MAX_DOTS:
        return dots
    kept = [at for at, one in enumerate(dots) if one.unlike or one.own][:MAX_DOTS]
    rest = [at for at in range(len(dots)) if at not in frozenset(kept)]
    room = MAX_DOTS - len(kept)
    chosen = {rest[at * len(rest) // room] for at in range(room)} if room > 0 else set()
    return [dots[at] for at in sorted({*kept, *chosen})]

"""The judgement over the runs of both sides: one host, one host beside an unchanged one, or many hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collectors.contract import Sentence
from culprit.core import primary, verification_form
from culprit.core.cohort import Differential, HostChange, Pair, differential, pooled
from culprit.core.verification_form import Drawn
from culprit.core.verify import DEFAULT_BAR, Judged, Window, judge, none
from culprit.models import Run
from culprit.workflows.verify_sides import Asked, Sides

Json = dict[str, Any]
BAR = DEFAULT_BAR


def judged(
    what: Asked,
    sides: Sides,
    before: Sequence[Run],
    after: Sequence[Run],
    control: tuple[Sequence[Run], Sequence[Run]] | None,
) -> Json:
    """The result as it is stored. `control` are the runs of the unchanged host, before and after."""
    bar = what.verification.bar or BAR
    if what.verification.kind == "cohort":
        return _cohort(what, sides, before, after, bar)
    subject = sides.subject(before)
    drawn = [*sides.windows("before", before, subject), *sides.windows("after", after, subject)]
    peers = None
    if control is not None:
        there = sides.subject(control[0])
        drawn += sides.windows("control_before", control[0], there)
        drawn += sides.windows("control_after", control[1], there)
        peers = _of(drawn, "control_before"), _of(drawn, "control_after")
    verdict = judge(
        _of(drawn, "before"),
        _of(drawn, "after"),
        what.better,
        bar=bar,
        divisible=primary.divisible(what.read),
        control=peers,
    )
    return _told(what, sides, verdict, bar, drawn, by_host=[(before, after)])


def _told(
    what: Asked,
    sides: Sides,
    verdict: Judged,
    bar: float,
    drawn: Sequence[Drawn],
    *,
    by_host: Sequence[tuple[Sequence[Run], Sequence[Run]]],
    hosts: Sequence[HostChange] = (),
) -> Json:
    """The verdict in its stored form; none where the load was not measured in one way throughout."""
    if verification_form.load_kind(drawn) == "mixed" and verdict.outcome != "no_conclusion":
        verdict = none("mixed_load", verdict.load_change)
    return verification_form.result(
        verdict,
        what.read,
        what.better,
        bar,
        drawn,
        notes=_notes(drawn),
        hosts=hosts,
        differential=_functions(sides, by_host),
    )


def _of(drawn: Sequence[Drawn], side: str) -> list[Window]:
    return [one.seen.window for one in drawn if one.side == side]


def _notes(drawn: Sequence[Drawn]) -> list[Sentence]:
    """What should be known beside the outcome: a load that is none, and why runs had no such number."""
    notes = [Sentence("verify.load_is_accepts")] if verification_form.load_kind(drawn) == "accepts" else []
    missing = {repr(one.seen.missing): one.seen.missing for one in drawn if one.seen.missing is not None}
    return [*notes, *missing.values()]


def _functions(sides: Sides, by_host: Sequence[tuple[Sequence[Run], Sequence[Run]]]) -> Differential | None:
    """How the functions' shares changed over the hosts that have CPU profiles of both sides; None where none has."""
    shares = {}
    for before, after in by_host:
        profiles = sides.shares(before), sides.shares(after)
        if all(profiles) and before[0].host_id is not None:
            shares[sides.name(before[0].host_id)] = profiles
    return differential(shares) if shares else None


def _cohort(what: Asked, sides: Sides, before: Sequence[Run], after: Sequence[Run], bar: float) -> Json:
    """Each host against itself, and all together; which disk or route is meant may differ from host to host."""
    drawn: list[Drawn] = []
    pairs: list[Pair] = []
    by_host = []
    for host in what.hosts:
        mine = [[run for run in side if run.host_id == host] for side in (before, after)]
        subject = sides.subject(mine[0])
        windows = [
            sides.windows(name, runs, subject) for name, runs in zip(("before", "after"), mine, strict=True)
        ]
        drawn += [*windows[0], *windows[1]]
        was, now = ([one.seen.window for one in side] for side in windows)
        pairs.append(Pair(sides.name(host), was, now))
        by_host.append((mine[0], mine[1]))
    found = pooled(pairs, what.better, bar=bar, divisible=primary.divisible(what.read))
    return _told(what, sides, found.judged, bar, drawn, by_host=by_host, hosts=found.hosts)

"""Judge the runs of both sides: of one host, with a control host, or of a cohort."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Sentence
from culprit.domain.verification import primary_number, result
from culprit.domain.verification.cohort import (
    FunctionComparison,
    HostChange,
    HostWindows,
    compare_functions,
    judge_cohort,
)
from culprit.domain.verification.judge import (
    DEFAULT_MINIMUM_CHANGE,
    Judgment,
    build_inconclusive,
    judge_windows,
)
from culprit.domain.verification.result import PlottedNumber
from culprit.domain.verification.windows import MeasurementWindow
from culprit.infra.models.captures.run import Run
from culprit.jobs.verification.measurements import SideReader, VerificationSpec
from culprit.json_types import Json

MINIMUM_CHANGE = DEFAULT_MINIMUM_CHANGE


def judge_runs(
    spec: VerificationSpec,
    sides: SideReader,
    before: Sequence[Run],
    after: Sequence[Run],
    control: tuple[Sequence[Run], Sequence[Run]] | None,
) -> Json:
    """Return the stored result. `control` are the runs of the control host, before and after."""
    minimum_change = spec.verification.minimum_change or MINIMUM_CHANGE
    if spec.verification.kind == "cohort":
        return _judge_cohort(spec, sides, before, after, minimum_change)
    subject = sides.select_subject(before)
    numbers = [*sides.windows("before", before, subject), *sides.windows("after", after, subject)]
    control_windows = None
    if control is not None:
        control_subject = sides.select_subject(control[0])
        numbers += sides.windows("control_before", control[0], control_subject)
        numbers += sides.windows("control_after", control[1], control_subject)
        control_windows = _select_side(numbers, "control_before"), _select_side(numbers, "control_after")
    verdict = judge_windows(
        _select_side(numbers, "before"),
        _select_side(numbers, "after"),
        spec.better,
        minimum_change=minimum_change,
        divisible=primary_number.is_divisible(spec.read),
        control=control_windows,
    )
    return _build_result(spec, sides, verdict, minimum_change, numbers, by_host=[(before, after)])


def _build_result(
    spec: VerificationSpec,
    sides: SideReader,
    verdict: Judgment,
    minimum_change: float,
    plotted_numbers: Sequence[PlottedNumber],
    *,
    by_host: Sequence[tuple[Sequence[Run], Sequence[Run]]],
    hosts: Sequence[HostChange] = (),
) -> Json:
    """Return the stored result; no conclusion if the load was measured in different ways."""
    if result.get_load_kind(plotted_numbers) == "mixed" and verdict.outcome != "no_conclusion":
        verdict = build_inconclusive("mixed_load", verdict.load_change)
    return result.result_to_json(
        verdict,
        spec.read,
        spec.better,
        minimum_change,
        plotted_numbers,
        notes=_list_notes(plotted_numbers),
        hosts=hosts,
        differential=_compare_functions(sides, by_host),
    )


def _select_side(plotted_numbers: Sequence[PlottedNumber], side: str) -> list[MeasurementWindow]:
    return [
        plotted_number.measured.window for plotted_number in plotted_numbers if plotted_number.side == side
    ]


def _list_notes(plotted_numbers: Sequence[PlottedNumber]) -> list[Sentence]:
    """Return notes on the outcome: a substitute for the load, and why runs have no number."""
    notes = [Sentence("verify.load_is_accepts")] if result.get_load_kind(plotted_numbers) == "accepts" else []
    missing = {
        repr(plotted_number.measured.missing): plotted_number.measured.missing
        for plotted_number in plotted_numbers
        if plotted_number.measured.missing is not None
    }
    return [*notes, *missing.values()]


def _compare_functions(
    sides: SideReader, by_host: Sequence[tuple[Sequence[Run], Sequence[Run]]]
) -> FunctionComparison | None:
    """Compare the shares of functions over hosts with CPU profiles of both sides; None without any."""
    shares = {}
    for before, after in by_host:
        profiles = sides.load_own_shares(before), sides.load_own_shares(after)
        if all(profiles) and before[0].host_id is not None:
            shares[sides.name(before[0].host_id)] = profiles
    return compare_functions(shares) if shares else None


def _judge_cohort(
    spec: VerificationSpec,
    sides: SideReader,
    before: Sequence[Run],
    after: Sequence[Run],
    minimum_change: float,
) -> Json:
    """Judge each host against itself, and all together. The subject can differ between hosts."""
    plotted_numbers: list[PlottedNumber] = []
    pairs: list[HostWindows] = []
    by_host = []
    for host in spec.hosts:
        host_runs = [[run for run in side if run.host_id == host] for side in (before, after)]
        subject = sides.select_subject(host_runs[0])
        windows = [
            sides.windows(name, runs, subject)
            for name, runs in zip(("before", "after"), host_runs, strict=True)
        ]
        plotted_numbers += [*windows[0], *windows[1]]
        before_windows, after_windows = ([item.measured.window for item in side] for side in windows)
        pairs.append(HostWindows(sides.name(host), before_windows, after_windows))
        by_host.append((host_runs[0], host_runs[1]))
    cohort = judge_cohort(
        pairs, spec.better, minimum_change=minimum_change, divisible=primary_number.is_divisible(spec.read)
    )
    return _build_result(
        spec, sides, cohort.judged, minimum_change, plotted_numbers, by_host=by_host, hosts=cohort.hosts
    )

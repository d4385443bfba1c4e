"""Build the stored result of a verification as JSON. Numbers that are not finite are null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.domain.rules import json_form
from culprit.domain.verification import primary_number
from culprit.domain.verification.cohort import FunctionComparison, HostChange
from culprit.domain.verification.judge import CONFIDENCE, Judgment
from culprit.domain.verification.primary_number import LoadKind, MeasuredNumber
from culprit.domain.verification.windows import Better, compute_mean_load, list_measured_windows
from culprit.json_types import Json

MAX_VALUES = 600
"""Maximum number of readings of a window: ten minutes, one per second."""

MAX_NAMES = 200
NO_FUNCTIONS: Json = {"hosts": [], "functions": [], "mapping": {}, "mapped": 0}


@dataclass(frozen=True, slots=True)
class PlottedNumber:
    """A window of a run and its side: before, after, control_before or control_after."""

    side: str
    run: str
    host: str
    measured: MeasuredNumber


def result_to_json(
    judged: Judgment,
    read: str,
    better: Better,
    minimum_change: float,
    windows: Sequence[PlottedNumber] = (),
    *,
    notes: Sequence[Sentence] = (),
    hosts: Sequence[HostChange] = (),
    differential: FunctionComparison | None = None,
) -> Json:
    """Build the result. `reasons` has the reason for no conclusion first, then notes on the outcome."""
    sides = {name: [window for window in windows if window.side == name] for name in ("before", "after")}
    reasons = [*([judged.reason] if judged.reason else []), *notes]
    answer: Json = {
        "outcome": judged.outcome,
        "change": _to_finite(judged.change),
        "low": _to_finite(judged.low),
        "high": _to_finite(judged.high),
        "p": _to_finite(judged.p),
        "minimum_change": minimum_change,
        "confidence": CONFIDENCE,
        "per_work": judged.per_work,
        "primary": {
            "read": read,
            "unit": primary_number.get_unit(read),
            "better": better,
            "subject": _get_subject(windows),
        },
        "load": {
            "kind": get_load_kind(windows),
            "unit": "per_s",
            **{name: _compute_load(side) for name, side in sides.items()},
            "change": _to_finite(judged.load_change),
        },
        "reasons": [json_form.sentence_to_json(reason) for reason in reasons],
        "windows": [_window_to_json(window) for window in windows],
    }
    if hosts:
        answer["hosts"] = [_host_to_json(host) for host in hosts]
    if differential is not None:
        answer["differential"] = _differential_to_json(differential)
    return answer


def get_load_kind(windows: Sequence[PlottedNumber]) -> LoadKind | str:
    """Return the kind of load of all windows, or `mixed`."""
    kinds = {window.measured.load_kind for window in windows}
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "none"


def _get_subject(windows: Sequence[PlottedNumber]) -> dict[str, str]:
    return dict(windows[0].measured.subject) if windows else {}


def _compute_load(side: Sequence[PlottedNumber]) -> float | None:
    counted = list_measured_windows([item.measured.window for item in side])
    return _to_finite(compute_mean_load(counted)) if counted else None


def _window_to_json(plotted_number: PlottedNumber) -> Json:
    values = plotted_number.measured.window.values[:MAX_VALUES]
    finite = [float(value) for value in values if math.isfinite(value)]
    return {
        "side": plotted_number.side,
        "run": plotted_number.run,
        "host": plotted_number.host,
        "load": _to_finite(plotted_number.measured.window.load),
        "mean": sum(finite) / len(finite) if finite else None,
        "block": plotted_number.measured.window.block,
        "t_ns": [int(at) for at in plotted_number.measured.t_ns[:MAX_VALUES]],
        "values": [_to_finite(float(value)) for value in values],
        "citations": [json_form.citation_to_json(each) for each in plotted_number.measured.citations],
        "missing": json_form.sentence_to_json(plotted_number.measured.missing),
    }


def _host_to_json(host_change: HostChange) -> Json:
    return {
        "host": host_change.host,
        "change": _to_finite(host_change.change),
        "load_change": _to_finite(host_change.load_change),
        "outlier": host_change.outlier,
        "left_out": json_form.sentence_to_json(host_change.left_out),
    }


def _differential_to_json(function_comparison: FunctionComparison) -> Json:
    mapping: Mapping[str, Sequence[str]] = dict(list(function_comparison.mapping.items())[:MAX_NAMES])
    return {
        "hosts": list(function_comparison.hosts),
        "functions": [
            {name: getattr(each, name) for name in each.__dataclass_fields__}
            for each in function_comparison.functions
        ],
        "mapping": {base: list(names) for base, names in mapping.items()},
        "mapped": len(function_comparison.mapping),
    }


def _to_finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""The result of a verification as JSON: what is stored with it, sent and drawn. Numbers that are none are null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.contract import Sentence
from culprit.core import primary
from culprit.core.cohort import Differential, HostChange
from culprit.core.primary import LoadKind, Seen
from culprit.core.rules import form
from culprit.core.verify import CONFIDENCE, Better, Judged, load_of, whole

Json = dict[str, Any]
MAX_VALUES = 600
"""Readings of a window that are sent: ten minutes, one a second."""

MAX_NAMES = 200
NO_FUNCTIONS: Json = {"hosts": [], "functions": [], "mapping": {}, "mapped": 0}


@dataclass(frozen=True, slots=True)
class Drawn:
    """One window of one run, and which of the sides it stands on: before, after, control_before, control_after."""

    side: str
    run: str
    host: str
    seen: Seen


def result(
    judged: Judged,
    read: str,
    better: Better,
    bar: float,
    windows: Sequence[Drawn] = (),
    *,
    notes: Sequence[Sentence] = (),
    hosts: Sequence[HostChange] = (),
    differential: Differential | None = None,
) -> Json:
    """All of it. `reasons` say why nothing can be concluded, then what should be known beside the outcome."""
    sides = {name: [one for one in windows if one.side == name] for name in ("before", "after")}
    reasons = [*([judged.reason] if judged.reason else []), *notes]
    answer: Json = {
        "outcome": judged.outcome,
        "change": _number(judged.change),
        "low": _number(judged.low),
        "high": _number(judged.high),
        "p": _number(judged.p),
        "bar": bar,
        "confidence": CONFIDENCE,
        "per_work": judged.per_work,
        "primary": {
            "read": read,
            "unit": primary.unit_of(read),
            "better": better,
            "subject": _subject(windows),
        },
        "load": {
            "kind": load_kind(windows),
            "unit": "per_s",
            **{name: _load(side) for name, side in sides.items()},
            "change": _number(judged.load_change),
        },
        "reasons": [form.sentence(one) for one in reasons],
        "windows": [_window(one) for one in windows],
    }
    if hosts:
        answer["hosts"] = [_host(one) for one in hosts]
    if differential is not None:
        answer["differential"] = _differential(differential)
    return answer


def load_kind(windows: Sequence[Drawn]) -> LoadKind | str:
    """What the load is a count of: the kind that all windows have, `mixed` where they have several."""
    kinds = {one.seen.load_kind for one in windows}
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "none"


def _subject(windows: Sequence[Drawn]) -> dict[str, str]:
    return dict(windows[0].seen.subject) if windows else {}


def _load(side: Sequence[Drawn]) -> float | None:
    counted = whole([one.seen.window for one in side])
    return _number(load_of(counted)) if counted else None


def _window(one: Drawn) -> Json:
    values = one.seen.window.values[:MAX_VALUES]
    finite = [float(value) for value in values if math.isfinite(value)]
    return {
        "side": one.side,
        "run": one.run,
        "host": one.host,
        "load": _number(one.seen.window.load),
        "mean": sum(finite) / len(finite) if finite else None,
        "block": one.seen.window.block,
        "t_ns": [int(at) for at in one.seen.t_ns[:MAX_VALUES]],
        "values": [_number(float(value)) for value in values],
        "citations": [form.citation(each) for each in one.seen.citations],
        "missing": form.sentence(one.seen.missing),
    }


def _host(one: HostChange) -> Json:
    return {
        "host": one.host,
        "change": _number(one.change),
        "load_change": _number(one.load_change),
        "outlier": one.outlier,
        "left_out": form.sentence(one.left_out),
    }


def _differential(one: Differential) -> Json:
    mapping: Mapping[str, Sequence[str]] = dict(list(one.mapping.items())[:MAX_NAMES])
    return {
        "hosts": list(one.hosts),
        "functions": [
            {name: getattr(each, name) for name in each.__dataclass_fields__} for each in one.functions
        ],
        "mapping": {base: list(names) for base, names in mapping.items()},
        "mapped": len(one.mapping),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None

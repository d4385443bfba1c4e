"""Answers that need no knowledge of causes, to compare a score with.

`largest-number` names the cause of the number that is furthest beyond its threshold, in any unit. `busiest-resource`
names the cause that is usually meant when CPU, memory, disk or network is closest to its limit. `silent` names nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from culprit.domain.rules.finding import Finding, MissingData
from culprit.domain.rules.measures.network.drops import LINK_USE
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.rule import Rule
from culprit.domain.rules.view import HostView

MODELS = ("largest-number", "busiest-resource", "silent")


def name_causes(findings: Sequence[Finding], rules: Mapping[str, Rule], view: HostView) -> dict[str, str]:
    """Return the cause that each model names, "" for none."""
    return {
        "largest-number": find_largest_number(findings, rules),
        "busiest-resource": find_busiest_resource(view),
        "silent": "",
    }


def find_largest_number(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> str:
    """Return the cause of the number that is furthest beyond its threshold, "" if none is beyond."""
    best, furthest = "", 0.0
    for finding in findings:
        rule = rules.get(finding.rule)
        if rule is None or not rule.causes or not finding.numbers or finding.state == "not_evaluated":
            continue
        number = finding.numbers[0]
        if number.threshold is None or number.op not in {">", ">="}:
            continue
        value, bound = abs(number.value), abs(number.threshold)
        beyond = value / bound if bound else value * 1e6
        if beyond > furthest:
            best, furthest = rule.causes[0], beyond
    return best


def find_busiest_resource(view: HostView) -> str:
    """Return the cause of the resource that is used most, "" below a tenth."""
    used = {cause: share for cause, read in _RESOURCES.items() if (share := read(view)) is not None}
    busiest = max(used, key=lambda cause: used[cause], default="")
    return busiest if busiest and used[busiest] >= 10.0 else ""


def _read_series(metric: str, *, largest: bool = False) -> Callable[[HostView], float | None]:
    """Return a reader of the mean of a metric over the time, of the largest series or of all."""

    def read(view: HostView) -> float | None:
        means = [
            float(np.nanmean(series.values))
            for series in view.series_of(metric)
            if np.isfinite(series.values).any()
        ]
        if not means:
            return None
        return max(means) if largest else float(np.mean(means))

    return read


def _read_memory(view: HostView) -> float | None:
    available = _read_series("mem.available_pct")(view)
    return None if available is None else 100.0 - available


def _read_link(view: HostView) -> float | None:
    reading = take_reading(view, LINK_USE)
    return None if isinstance(reading, MissingData) else max((item.value for item in reading), default=None)


_RESOURCES: Mapping[str, Callable[[HostView], float | None]] = {
    "cpu-exhausted": _read_series("cpu.total_busy_pct"),
    "memory-leak": _read_memory,
    "disk-saturation": _read_series("disk.util_pct", largest=True),
    "link-saturated": _read_link,
}

"""Convert rule values to the names and base units of Prometheus' conventions. Pure functions.

https://prometheus.io/docs/practices/naming/: a prefix, lower case, the unit as the last part of the name, and
base units (seconds, bytes, ratios) instead of their multiples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectors.contract import Text

PREFIX = "culprit_rule_"
#: Unit in Culprit → (suffix of the metric name, factor).
UNITS: Mapping[str, tuple[str, float]] = {
    "bool": ("", 1.0),
    "bytes": ("bytes", 1.0),
    "bytes_per_s": ("bytes_per_second", 1.0),
    "count": ("", 1.0),
    "h": ("seconds", 3600.0),
    "kb": ("bytes", 1024.0),  # USER_HZ is 100
    "mb_per_s": ("bytes_per_second", 1e6),
    "min": ("seconds", 60.0),
    "ms": ("seconds", 1e-3),
    "ns": ("seconds", 1e-9),
    "packets_per_s": ("packets_per_second", 1.0),
    "pages_per_s": ("pages_per_second", 1.0),
    "pct": ("ratio", 1e-2),
    "per_min": ("per_second", 1 / 60),
    "per_s": ("per_second", 1.0),
    "ratio": ("ratio", 1.0),
    "s": ("seconds", 1.0),
    "us": ("seconds", 1e-6),
}
#: Prometheus' checker takes these parts of a name for units or types; they are spelled out instead.
_WORDS: Mapping[str, str] = {"sec": "security", "total": "sum", "count": "number", "bucket": "group"}


@dataclass(frozen=True, slots=True)
class PrometheusMetric:
    """A metric: name, help text, and the factor from the rule's unit to the base unit."""

    name: str
    help: str
    factor: float


def build_metric(rule: str, title: Text, unit: str) -> PrometheusMetric:
    """Return the metric of a rule. An unknown unit is used unchanged in the name."""
    part, factor = UNITS.get(unit, (unit, 1.0))
    words = [word for word in re.split(r"[^a-z0-9]+", rule.lower().removeprefix("f-")) if word]
    spelled = [_WORDS.get(word, word) for word in words]
    suffix = f"_{part}" if part else ""
    return PrometheusMetric(f"{PREFIX}{'_'.join(spelled)}{suffix}", f"{title.en} ({rule}).", factor)


@dataclass(frozen=True, slots=True)
class RuleValue:
    """Latest result of a rule on a host. `value` is in the rule's unit, None if nothing was measured."""

    rule: str
    host: str
    value: float | None
    matched: bool | None  # None: inconclusive


def select_values(
    values: Iterable[RuleValue], rules: frozenset[str], most: int
) -> tuple[list[RuleValue], int]:
    """Return the values of the selected rules (default: all that matched on a host), and the number omitted.

    At most `most` values are returned. Whole rules are omitted, never single hosts, so that sums over hosts
    stay correct.
    """
    by_rule: dict[str, list[RuleValue]] = {}
    for value in values:
        by_rule.setdefault(value.rule, []).append(value)
    requested = {
        rule: each
        for rule, each in by_rule.items()
        if (rule in rules if rules else any(item.matched for item in each))
    }
    exported: list[RuleValue] = []
    left_out = 0
    # Rules that matched on most hosts come first; the least informative are omitted.
    for _, each in sorted(
        requested.items(), key=lambda item: (-sum(bool(item.matched) for item in item[1]), item[0])
    ):
        if left_out or len(exported) + len(each) > most:
            left_out += len(each)
        else:
            exported += each
    return sorted(exported, key=lambda value: (value.rule, value.host)), left_out

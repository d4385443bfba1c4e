"""Rule values under the names and in the base units that Prometheus' conventions ask for. Pure.

https://prometheus.io/docs/practices/naming/: a prefix, lower case, the unit as the last part of the name, and base
units (seconds, bytes, ratios) in place of their multiples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectors.contract import Text

PREFIX = "culprit_rule_"
#: Unit here → (the part of the name, what a value is multiplied with).
UNITS: Mapping[str, tuple[str, float]] = {
    "bool": ("", 1.0),
    "bytes": ("bytes", 1.0),
    "bytes_per_s": ("bytes_per_second", 1.0),
    "count": ("", 1.0),
    "kb": ("bytes", 1024.0),  # as the kernel counts them
    "mb_per_s": ("bytes_per_second", 1e6),
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
#: What Prometheus' own checker takes for a unit or a kind within a name: written out it says the same.
_WORDS: Mapping[str, str] = {"sec": "security", "total": "sum", "count": "number", "bucket": "group"}


@dataclass(frozen=True, slots=True)
class Named:
    """A metric: its name, what stands behind `# HELP`, and what a value is multiplied with."""

    name: str
    help: str
    factor: float


def named(rule: str, title: Text, unit: str) -> Named:
    """The metric of a rule. A unit that is not known stands in the name as it is."""
    part, factor = UNITS.get(unit, (unit, 1.0))
    words = [word for word in re.split(r"[^a-z0-9]+", rule.lower().removeprefix("f-")) if word]
    told = [_WORDS.get(word, word) for word in words]
    suffix = f"_{part}" if part else ""
    return Named(f"{PREFIX}{'_'.join(told)}{suffix}", f"{title.en} ({rule}).", factor)


@dataclass(frozen=True, slots=True)
class Value:
    """What a rule last said of a host. `value` is in the rule's own unit, None where nothing was measured."""

    rule: str
    host: str
    value: float | None
    fired: bool | None  # None: not sure


def chosen(values: Iterable[Value], rules: frozenset[str], most: int) -> tuple[list[Value], int]:
    """Of the rules that were asked for (where none was: those that fired somewhere) all values, at most `most`.

    Whole rules are left out and never single hosts: a sum over hosts shall not lie. Returns how many values were.
    """
    by_rule: dict[str, list[Value]] = {}
    for one in values:
        by_rule.setdefault(one.rule, []).append(one)
    wanted = {
        rule: each
        for rule, each in by_rule.items()
        if (rule in rules if rules else any(one.fired for one in each))
    }
    kept: list[Value] = []
    left_out = 0
    # Those that fired on the most hosts first: what is left out is what says the least.
    for _, each in sorted(
        wanted.items(), key=lambda item: (-sum(bool(one.fired) for one in item[1]), item[0])
    ):
        if left_out or len(kept) + len(each) > most:
            left_out += len(each)
        else:
            kept += each
    return sorted(kept, key=lambda one: (one.rule, one.host)), left_out

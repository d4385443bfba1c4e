"""How much findings weigh against each other: strength, severity, and how far a number is beyond its threshold."""

from __future__ import annotations

import math

from culprit.domain.rules.finding import STRENGTH_ORDER, Finding

_SEVERITY = {"info": 0, "warn": 1, "critical": 2}


def weigh_evidence(finding: Finding, is_end: bool, is_harmed: bool) -> tuple[int, bool, bool, int, float]:
    """Return the weight of a finding.

    A wait for another service of this host is not the end of its chain. Of several places, a harmed one is first.
    """
    strength, severity, octaves = weigh_finding(finding)
    return strength, is_end, is_harmed, severity, octaves


def weigh_severity(finding: Finding) -> tuple[int, int, float]:
    """Return how grave a finding is: its severity, its strength, and how far it is beyond its threshold."""
    strength, severity, octaves = weigh_finding(finding)
    return severity, strength, octaves


def weigh_finding(finding: Finding) -> tuple[int, int, float]:
    """Return the strength of a finding, its severity, and how far it is beyond its threshold."""
    return (STRENGTH_ORDER[finding.strength], _SEVERITY[finding.severity], _count_octaves(finding))


def _count_octaves(finding: Finding) -> float:
    """Return how far the number is beyond its threshold, as a power of two, at most ten."""
    number = finding.numbers[0] if finding.numbers else None
    if number is None or number.threshold is None:
        return 0.0
    low, high = sorted((abs(number.value), abs(number.threshold)))
    return min(10.0, math.log2(high / low)) if low > 0 else 10.0

"""Numbers and times as a report writes them: with their unit, what they were held against, in the report's zone."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from culprit.core.reports.words import word

Json = Mapping[str, Any]
_UNITS = {
    "pct": "%",
    "percent": "%",
    "per_s": "/s",
    "count": "",
    "": "",
    "ratio": "",
    "bytes": "B",
    "cores": "cores",
    "kb": "KiB",
    "mb": "MiB",
    "bytes_per_s": "B/s",
    "kb_per_s": "KiB/s",
    "mb_per_s": "MiB/s",
    "packets_per_s": "packets/s",
    "mbit_per_s": "Mbit/s",
}
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def number(value: object, unit: str = "") -> str:
    """A number with its unit; a dash where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    if isinstance(value, int) or value == int(value):
        text = f"{int(value):,}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    sign = _UNITS.get(unit, unit)
    return f"{text} {sign}".strip()


def share(value: object) -> str:
    """A share as a percentage, with its sign."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    return f"{100 * value:+.1f} %"


def holds(value: object, op: str, threshold: object) -> bool:
    """Whether a comparison is true as it is written; a sign that is none of ours is left as it was told."""
    if not isinstance(value, int | float) or not isinstance(threshold, int | float):
        return True
    compare = _SIGNS.get(op)
    return compare is None or bool(compare(value, threshold))


def compared(one: Json, language: str) -> str:
    """A number of a finding: `97 % > 80 %`, where that does not hold `12 % (threshold > 80 %)`, and `97 %` alone where
    it was compared with nothing.
    """
    unit, op = str(one.get("unit") or ""), str(one.get("op") or "")
    value = text = number(one.get("value"), unit)
    extra: list[str] = []
    if one.get("threshold") is not None:
        threshold = f"{op} {number(one['threshold'], unit)}"
        if holds(one.get("value"), op, one["threshold"]):
            text = f"{value} {threshold}"
        else:
            extra = [f"{word('threshold', language)} {threshold}"]
    if one.get("baseline") is not None:
        extra.append(f"{word('baseline', language)} {number(one['baseline'], unit)}")
    if one.get("n"):
        extra.append(f"n = {one['n']:,}")
    return f"{text} ({', '.join(extra)})" if extra else text


def about(subject: Json) -> str:
    """What on the host a number is about."""
    return ", ".join(f"{name} {value}" for name, value in subject.items())


def moment(text: object, zone: str) -> str:
    """A time in a zone, to the second; empty where there is none."""
    if not isinstance(text, str) or not text:
        return ""
    at = datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
    return f"{at:%Y-%m-%d %H:%M:%S} {at:%Z}"

"""Format of numbers and times in a report: unit, comparison and time zone."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from culprit.domain.reports.words import get_label
from culprit.json_types import JsonMapping

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


def format_number(value: object, unit: str = "") -> str:
    """Format a number with its unit, or a dash for None."""
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


def format_share(value: object) -> str:
    """Format a share as a signed percentage."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    return f"{100 * value:+.1f} %"


def is_true_comparison(value: object, op: str, threshold: object) -> bool:
    """Return whether a comparison is true; an unknown operator counts as true."""
    if not isinstance(value, int | float) or not isinstance(threshold, int | float):
        return True
    compare = _SIGNS.get(op)
    return compare is None or bool(compare(value, threshold))


def format_comparison(item: JsonMapping, language: str) -> str:
    """Format a number of a finding: `97 % > 80 %`, or `12 % (threshold > 80 %)` if the comparison is false, or `97 %`
    without a comparison.
    """
    unit, op = str(item.get("unit") or ""), str(item.get("op") or "")
    value = text = format_number(item.get("value"), unit)
    extra: list[str] = []
    if item.get("threshold") is not None:
        threshold = f"{op} {format_number(item['threshold'], unit)}"
        if is_true_comparison(item.get("value"), op, item["threshold"]):
            text = f"{value} {threshold}"
        else:
            extra = [f"{get_label('threshold', language)} {threshold}"]
    if item.get("baseline") is not None:
        extra.append(f"{get_label('baseline', language)} {format_number(item['baseline'], unit)}")
    if item.get("n"):
        extra.append(f"n = {item['n']:,}")
    return f"{text} ({', '.join(extra)})" if extra else text


def describe_subject(subject: JsonMapping) -> str:
    """Describe the subject of a number."""
    return ", ".join(f"{name} {value}" for name, value in subject.items())


def format_time(text: object, zone: str) -> str:
    """Format a time in a zone to the second, or return ""."""
    if not isinstance(text, str) or not text:
        return ""
    at = datetime.fromisoformat(text).astimezone(ZoneInfo(zone))
    return f"{at:%Y-%m-%d %H:%M:%S} {at:%Z}"

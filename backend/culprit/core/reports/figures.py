"""Numbers and times as a report writes them: with their unit, what they were held against, in the report's zone."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def compared(one: Json, language: str) -> str:
    """A number of a finding: what it is, how it was held against what."""
    unit = str(one.get("unit") or "")
    text = f"{number(one.get('value'), unit)} {one.get('op', '')} {number(one.get('threshold'), unit)}"
    extra = []
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

"""Sanitize values of foreign JSON: bounded text without control characters, and valid times."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from culprit.domain.alerts.contract import MAX_LABELS, MAX_NAME, MAX_VALUE

#: JSON with deeper nesting is refused.
MAX_DEPTH = 40
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def parse_object(body: bytes) -> Mapping[str, Any] | None:
    """Return a JSON object, or None for anything else."""
    try:
        result = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) and not _is_deeper(result, MAX_DEPTH) else None


def _reject_constant(name: str) -> float:
    raise ValueError(name)


def _is_deeper(value: object, levels: int) -> bool:
    """Return whether the value has more than this many levels."""
    layer: list[object] = [value]
    for _ in range(levels):
        layer = [
            inner
            for item in layer
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not layer:
            return False
    return True


def clean_text(value: object, limit: int) -> str:
    """Return bounded text of one or more lines; empty if the value is not a scalar."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else ""
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else ""
    if not isinstance(value, str):
        return ""
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", value[: 4 * limit].replace("\r\n", "\n")).strip()[
        :limit
    ]


def clean_labels(value: object) -> dict[str, str]:
    """Return names and values up to the limit; pairs that are not scalars are omitted."""
    if not isinstance(value, Mapping):
        return {}
    results: dict[str, str] = {}
    for name, item in value.items():
        stored, message = clean_text(name, MAX_NAME), clean_text(item, MAX_VALUE)
        if stored and message and len(results) < MAX_LABELS:
            results[stored] = message
    return results


def parse_time(value: object) -> datetime | None:
    """Parse RFC 3339 or seconds of UTC. Return None for anything else and for the zero time of some senders."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str) and len(value) < 60:
            at = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
        else:
            return None
        # In UTC, times of the first or last day of the calendar may be before or after it.
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at if 2000 <= at.year <= 2200 else None


def to_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, Mapping) else {}


def to_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in an array."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

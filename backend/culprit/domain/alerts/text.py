"""Values out of foreign JSON, made harmless: text without control characters, bounded; times that are times."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from culprit.core.alerts.contract import MAX_LABELS, MAX_NAME, MAX_VALUE

#: JSON that lies deeper than this is nobody's alert.
MAX_DEPTH = 40
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def parse(body: bytes) -> Mapping[str, Any] | None:
    """A JSON object; None for anything else, however it is broken."""
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not _deeper(found, MAX_DEPTH) else None


def _refuse(name: str) -> float:
    raise ValueError(name)


def _deeper(value: object, levels: int) -> bool:
    """Whether anything lies more than so many levels below."""
    layer: list[object] = [value]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not layer:
            return False
    return True


def text(value: object, limit: int) -> str:
    """One line or a few, bounded; empty for what is no scalar."""
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


def labels(value: object) -> dict[str, str]:
    """Names and values, as many as are taken; what is no pair of scalars is left out."""
    if not isinstance(value, Mapping):
        return {}
    found: dict[str, str] = {}
    for name, one in value.items():
        kept, said = text(name, MAX_NAME), text(one, MAX_VALUE)
        if kept and said and len(found) < MAX_LABELS:
            found[kept] = said
    return found


def moment(value: object) -> datetime | None:
    """RFC 3339, or seconds of UTC; None for anything else and for the zero times that senders use for `unknown`."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str) and len(value) < 60:
            at = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at if 2000 <= at.year <= 2200 else None


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of an array."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []

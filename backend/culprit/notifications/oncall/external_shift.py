"""A shift of a calendar or of PagerDuty, before it is matched to an account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

#: Shifts are read this far ahead, and this far back for current and recent ones.
MAX_AHEAD = timedelta(days=120)
MAX_BEHIND = timedelta(days=14)
MAX_SHIFTS = 2000
MAX_NAME = 200


class UnreadableCalendarError(Exception):
    """The source contains no usable shift; `sentence` is the reason."""

    def __init__(self, key: str, **params: str | int) -> None:
        super().__init__(key)
        self.sentence: dict[str, object] = {"key": key, "params": params}


@dataclass(frozen=True, slots=True)
class ExternalShift:
    """A shift from `start` until `end` (UTC)."""

    start: datetime
    end: datetime
    who: str
    address: str | None = None
    level: int = 1


def clean_name(text: object) -> str:
    """Return a name as it is stored: one line, no control characters, bounded length."""
    stored = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * MAX_NAME])
    return " ".join(stored.split())[:MAX_NAME]


def parse_utc(text: object) -> datetime | None:
    """Parse a time with offset, as in 2026-11-22T09:00:00Z; return None for anything else."""
    try:
        at = datetime.fromisoformat(str(text))
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

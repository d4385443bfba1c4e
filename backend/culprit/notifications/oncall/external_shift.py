"""A turn as it was found in a calendar or at PagerDuty, before anybody knows whose account it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

#: So far ahead turns are read, so far back are those that still go on or have just ended.
AHEAD = timedelta(days=120)
BEHIND = timedelta(days=14)
MAX_TURNS = 2000
MAX_NAME = 200


class Unreadable(Exception):
    """Nothing usable; `sentence` says why."""

    def __init__(self, key: str, **params: str | int) -> None:
        super().__init__(key)
        self.sentence: dict[str, object] = {"key": key, "params": params}


@dataclass(frozen=True, slots=True)
class Found:
    """From `start` until `end` (UTC)."""

    start: datetime
    end: datetime
    who: str
    address: str | None = None
    level: int = 1


def plain(text: object) -> str:
    """A name as it is stored and shown: one line, no control characters, not endless."""
    kept = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * MAX_NAME])
    return " ".join(kept.split())[:MAX_NAME]


def in_utc(text: object) -> datetime | None:
    """A time with its offset, as in 2026-11-22T09:00:00Z; None for anything else."""
    try:
        at = datetime.fromisoformat(str(text))
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None

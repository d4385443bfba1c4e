"""Runs in a confined child: the turns of an iCalendar, recurrences and time zones worked out.

Each attendee of an event is on call during it; where an event names none, its summary is the name. It leaves
`result.json`. What the library cannot read ends the child, and whoever started it says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events  # type: ignore[import-untyped]
from icalendar import Calendar, Event

from culprit.core.cron import first_valid
from culprit.infra.inputs import open_input
from culprit.oncall.found import MAX_TURNS, plain

MAX_EVENTS = 5000
#: Nobody is on call for a minute, and a rule that repeats so often is there to keep a reader busy.
_RESTLESS = re.compile(rb"FREQ\s*=\s*(SECONDLY|MINUTELY|HOURLY)", re.IGNORECASE)
_EVENT = re.compile(rb"^BEGIN:VEVENT\s*$", re.IGNORECASE | re.MULTILINE)
Json = dict[str, Any]


def main(request: Mapping[str, Any]) -> None:
    """`request`: {path, start, end, zone}; times as in 2026-11-22T09:00:00+00:00."""
    with open_input(Path(request["path"])) as stream:
        result = _read(stream.read(), request)
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def _read(data: bytes, request: Mapping[str, Any]) -> Json:
    if b"BEGIN:VCALENDAR" not in data[:4096].upper():
        return _refused("oncall.no_calendar")
    events = len(_EVENT.findall(data))
    if events > MAX_EVENTS:
        return _refused("oncall.calendar_too_long", events=events, most=MAX_EVENTS)
    unfolded = data.replace(b"\r\n ", b"").replace(b"\n ", b"").replace(b"\r\n\t", b"").replace(b"\n\t", b"")
    if (restless := _RESTLESS.search(unfolded)) is not None:
        return _refused("oncall.calendar_restless", rule=restless.group(1).decode().upper())
    try:
        calendar = Calendar.from_ical(data)
    except ValueError:
        return _refused("oncall.calendar_unreadable")
    start, end = (datetime.fromisoformat(request[name]) for name in ("start", "end"))
    zone = ZoneInfo(request["zone"])
    found: list[Json] = []
    for event in recurring_ical_events.of(calendar, components=["VEVENT"]).between(start, end):
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        found += _turns(event, zone)
        if len(found) > MAX_TURNS:
            return _refused("oncall.too_many_turns", most=MAX_TURNS)
    return {"turns": found}


def _refused(key: str, **params: str | int) -> Json:
    return {"failure": {"key": key, "params": params}}


def _turns(event: Event, zone: ZoneInfo) -> Iterator[Json]:
    start, end = _instant(event.start, zone), _instant(event.end, zone)
    if start >= end:
        return
    for who, address in _people(event):
        yield {"start": start.isoformat(), "end": end.isoformat(), "who": who, "address": address}


def _instant(at: date | datetime, zone: ZoneInfo) -> datetime:
    """A time without a zone, or a day, is one of `zone`."""
    if isinstance(at, datetime):
        return at.astimezone(UTC) if at.tzinfo is not None else first_valid(at, zone).at
    return first_valid(datetime.combine(at, time()), zone).at


def _people(event: Event) -> Iterator[tuple[str, str | None]]:
    given = event.get("ATTENDEE", [])
    named = False
    for one in given if isinstance(given, list) else [given]:
        address = plain(re.sub(r"^mailto:", "", str(one), flags=re.IGNORECASE))
        name = plain(one.params.get("CN", "")) if hasattr(one, "params") else ""
        if name or address:
            named = True
            yield name or address, address if "@" in address else None
    summary = plain(event.get("SUMMARY", ""))
    if not named and summary:
        yield summary, None

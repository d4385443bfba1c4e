"""Parse an iCalendar in the sandbox: shifts with recurrences and time zones resolved.

Each attendee of an event is on call during it; without attendees, the summary is the name. The output is
`result.json`. If the library fails, the process ends and the parent reports it.
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

from culprit.domain.scheduling.cron import resolve_local_time
from culprit.infra.sandbox.inputs import open_input
from culprit.json_types import Json
from culprit.notifications.oncall.external_shift import MAX_SHIFTS, clean_name

MAX_EVENTS = 5000
#: Limits against calendars that exhaust the parser: shortest shift, and number of recurrences.
_TOO_FREQUENT = re.compile(rb"FREQ\s*=\s*(SECONDLY|MINUTELY|HOURLY)", re.IGNORECASE)
_EVENT = re.compile(rb"^BEGIN:VEVENT\s*$", re.IGNORECASE | re.MULTILINE)


def main(request: Mapping[str, Any]) -> None:
    """Parse a calendar. `request` is {path, start, end, zone}; times as in 2026-11-22T09:00:00+00:00."""
    with open_input(Path(request["path"])) as stream:
        result = parse_shifts(stream.read(), request)
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def parse_shifts(data: bytes, request: Mapping[str, Any]) -> Json:
    """Return {"shifts": [...]} with times in UTC, or {"failure": {key, params}}. The library may raise anything."""
    if b"BEGIN:VCALENDAR" not in data[:4096].upper():
        return _build_failure("oncall.no_calendar")
    events = len(_EVENT.findall(data))
    if events > MAX_EVENTS:
        return _build_failure("oncall.calendar_too_long", events=events, most=MAX_EVENTS)
    unfolded = data.replace(b"\r\n ", b"").replace(b"\n ", b"").replace(b"\r\n\t", b"").replace(b"\n\t", b"")
    if (restless := _TOO_FREQUENT.search(unfolded)) is not None:
        return _build_failure("oncall.calendar_restless", rule=restless.group(1).decode().upper())
    try:
        calendar = Calendar.from_ical(data)
    except ValueError:
        return _build_failure("oncall.calendar_unreadable")
    start, end = (datetime.fromisoformat(request[name]) for name in ("start", "end"))
    zone = ZoneInfo(request["zone"])
    results: list[Json] = []
    for event in recurring_ical_events.of(calendar, components=["VEVENT"]).between(start, end):
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        results += _iter_event_shifts(event, zone)
        if len(results) > MAX_SHIFTS:
            return _build_failure("oncall.too_many_shifts", most=MAX_SHIFTS)
    return {"shifts": results}


def _build_failure(key: str, **params: str | int) -> Json:
    return {"failure": {"key": key, "params": params}}


def _iter_event_shifts(event: Event, zone: ZoneInfo) -> Iterator[Json]:
    start, end = _to_utc(event.start, zone), _to_utc(event.end, zone)
    if start >= end:
        return
    for who, address in _iter_event_people(event):
        yield {"start": start.isoformat(), "end": end.isoformat(), "who": who, "address": address}


def _to_utc(at: date | datetime, zone: ZoneInfo) -> datetime:
    """Convert to UTC; a date or a time without a zone is in `zone`."""
    if isinstance(at, datetime):
        return at.astimezone(UTC) if at.tzinfo is not None else resolve_local_time(at, zone).at
    return resolve_local_time(datetime.combine(at, time()), zone).at


def _iter_event_people(event: Event) -> Iterator[tuple[str, str | None]]:
    supplied = event.get("ATTENDEE", [])
    named = False
    for item in supplied if isinstance(supplied, list) else [supplied]:
        address = clean_name(re.sub(r"^mailto:", "", str(item), flags=re.IGNORECASE))
        name = clean_name(item.params.get("CN", "")) if hasattr(item, "params") else ""
        if name or address:
            named = True
            yield name or address, address if "@" in address else None
    summary = clean_name(event.get("SUMMARY", ""))
    if not named and summary:
        yield summary, None

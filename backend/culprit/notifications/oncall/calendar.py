"""Turns out of an iCalendar that somebody else wrote: fetched under the allow-list, read in a confined child."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from culprit.infra import outgoing
from culprit.infra.addresses import Rule
from culprit.infra.bounded import Limits, open_output, run_confined, workspace
from culprit.infra.outgoing import Address, OutgoingError, Request, fetch
from culprit.oncall.found import Found, Unreadable, in_utc

MAX_BYTES = 2 << 20
FETCH_S = 20.0
CHILD = "culprit.oncall.confined_calendar"
LIMITS = Limits(address_space=512 << 20, cpu_s=10, file_bytes=8 << 20, wall_s=20.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A calendar that is to be fetched."""

    address: Address = field(repr=False)
    rules: tuple[Rule, ...]


def address_of(url: str) -> Address:
    """The address of a calendar; `webcal` is https. Raises OutgoingError `url`."""
    scheme, colon, rest = url.partition(":")
    return outgoing.address_of(f"https:{rest}" if scheme.lower() in {"webcal", "webcals"} and colon else url)


def ask(asked: Asked) -> bytes:
    """The calendar as it is there. Raises OutgoingError."""
    request = Request(asked.address.place, asked.address.target, {"Accept": "text/calendar"})
    reply = fetch(request, asked.rules, total_s=FETCH_S, limit=MAX_BYTES)
    if reply.status != 200:
        raise OutgoingError("status", host=asked.address.place.host, status=reply.status)
    return reply.body


def read(data: bytes, zone: str, start: datetime, end: datetime, work: Path) -> list[Found]:
    """The turns between `start` and `end`, read in a child below the directory `work`. Raises Unreadable."""
    with workspace(work) as directory:
        path = directory / "calendar.ics"
        path.write_bytes(data)
        request = {"path": str(path), "zone": zone, "start": start.isoformat(), "end": end.isoformat()}
        ended = run_confined(CHILD, request, directory, LIMITS, inputs=[str(path)])
        if ended.verdict in {"too_slow", "out_of_memory", "too_large"}:
            raise Unreadable("oncall.calendar_too_much")
        if ended.verdict != "ok":
            raise Unreadable("oncall.calendar_unreadable")
        with open_output(directory / "result.json") as stream:
            result = json.loads(stream.read(LIMITS.file_bytes))
    if "failure" in result:
        raise Unreadable(result["failure"]["key"], **result["failure"]["params"])
    found = []
    for one in result["turns"]:
        begins, ends = in_utc(one["start"]), in_utc(one["end"])
        if begins is not None and ends is not None:
            found.append(Found(begins, ends, one["who"], one["address"]))
    return found

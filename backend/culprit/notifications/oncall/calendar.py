"""Read shifts from an iCalendar: fetched within the network allow-list, parsed in the sandbox."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from culprit.infra.network import http_client
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Request, SecretUrl, send_request
from culprit.infra.sandbox.process import SandboxLimits, create_workspace, open_output, run_in_sandbox
from culprit.notifications.oncall.external_shift import ExternalShift, UnreadableCalendarError, parse_utc

MAX_BYTES = 2 << 20
FETCH_S = 20.0
CHILD = "culprit.notifications.oncall.confined_calendar"
LIMITS = SandboxLimits(address_space=512 << 20, cpu_s=10, file_bytes=8 << 20, wall_s=20.0)


@dataclass(frozen=True, slots=True)
class CalendarRequest:
    """Address and credentials of a calendar."""

    address: SecretUrl = field(repr=False)
    rules: tuple[AddressRule, ...]


def parse_address(url: str) -> SecretUrl:
    """Return the address of a calendar; `webcal` means https. Raises OutgoingError `url`."""
    scheme, colon, rest = url.partition(":")
    return http_client.parse_url(
        f"https:{rest}" if scheme.lower() in {"webcal", "webcals"} and colon else url
    )


def fetch_calendar(calendar_request: CalendarRequest) -> bytes:
    """Fetch the calendar. Raises OutgoingError."""
    request = Request(
        calendar_request.address.endpoint, calendar_request.address.target, {"Accept": "text/calendar"}
    )
    reply = send_request(request, calendar_request.rules, total_s=FETCH_S, limit=MAX_BYTES)
    if reply.status != 200:
        raise OutgoingError("status", host=calendar_request.address.endpoint.host, status=reply.status)
    return reply.body


def parse_calendar(data: bytes, zone: str, start: datetime, end: datetime, work: Path) -> list[ExternalShift]:
    """Return the shifts between `start` and `end`, parsed in a sandbox below the directory `work`.

    Raises UnreadableCalendarError.
    """
    with create_workspace(work) as directory:
        path = directory / "calendar.ics"
        path.write_bytes(data)
        request = {"path": str(path), "zone": zone, "start": start.isoformat(), "end": end.isoformat()}
        ended = run_in_sandbox(CHILD, request, directory, LIMITS, inputs=[str(path)])
        if ended.verdict in {"too_slow", "out_of_memory", "too_large"}:
            raise UnreadableCalendarError("oncall.calendar_too_much")
        if ended.verdict != "ok":
            raise UnreadableCalendarError("oncall.calendar_unreadable")
        with open_output(directory / "result.json") as stream:
            result = json.loads(stream.read(LIMITS.file_bytes))
    if "failure" in result:
        raise UnreadableCalendarError(result["failure"]["key"], **result["failure"]["params"])
    results = []
    for shift in result["shifts"]:
        begins, ends = parse_utc(shift["start"]), parse_utc(shift["end"])
        if begins is not None and ends is not None:
            results.append(ExternalShift(begins, ends, shift["who"], shift["address"]))
    return results

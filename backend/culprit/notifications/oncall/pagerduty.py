"""Fetch on-calls from PagerDuty: GET /oncalls of its REST API, version 2, page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from culprit.domain.scheduling.rotations import NO_END
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Request, parse_base_url, send_request
from culprit.notifications.oncall.external_shift import (
    MAX_SHIFTS,
    ExternalShift,
    UnreadableCalendarError,
    clean_name,
    parse_utc,
)

PAGE = 100
MAX_PAGES = MAX_SHIFTS // PAGE
PAGE_BYTES = 2 << 20
PAGE_S = 15.0
OPEN_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PagerDutyRequest:
    """Server, token and filters of a request."""

    url: str
    token: str = field(repr=False)
    schedules: Sequence[str]
    policies: Sequence[str]
    rules: tuple[AddressRule, ...]


def fetch_shifts(pager_duty_request: PagerDutyRequest, start: datetime, end: datetime) -> list[ExternalShift]:
    """Return all shifts between `start` and `end`. Raises OutgoingError or UnreadableCalendarError."""
    external_shifts: list[ExternalShift] = []
    for number in range(MAX_PAGES):
        endpoint = parse_base_url(pager_duty_request.url)
        reported = [
            ("since", start.isoformat()), ("until", end.isoformat()), ("time_zone", "UTC"),
            ("include[]", "users"), ("limit", str(PAGE)), ("offset", str(number * PAGE)),
            *(("schedule_ids[]", schedule) for schedule in pager_duty_request.schedules),
            *(("escalation_policy_ids[]", policy) for policy in pager_duty_request.policies),
        ]  # fmt: skip
        headers = {
            "Authorization": f"Token token={pager_duty_request.token}",
            "Accept": "application/vnd.pagerduty+json;version=2",
        }
        request = Request(endpoint, f"{endpoint.path}/oncalls?{urlencode(reported)}", headers)
        reply = send_request(request, pager_duty_request.rules, total_s=PAGE_S, limit=PAGE_BYTES)
        if reply.status != 200:
            raise OutgoingError("status", host=endpoint.host, status=reply.status)
        page, more = parse_page(reply.body)
        external_shifts += page
        if not more:
            break
    return external_shifts


def parse_page(body: bytes) -> tuple[list[ExternalShift], bool]:
    """Return the shifts of one page, and whether there are more. Malformed entries are omitted.

    Raises UnreadableCalendarError if the page is malformed. An on-call without times has no end.
    """
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict) or not isinstance(page.get("oncalls"), list):
        raise UnreadableCalendarError("oncall.pagerduty_garbled")
    oncalls = [turn for oncall in page["oncalls"][: PAGE * 10] if (turn := _parse_shift(oncall)) is not None]
    return oncalls, page.get("more") is True


def _parse_shift(item: object) -> ExternalShift | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("user"), Mapping):
        return None
    user: Mapping[str, Any] = item["user"]
    who = clean_name(user.get("name") or user.get("summary") or user.get("email") or "")
    start, end = _parse_time(item.get("start"), OPEN_START), _parse_time(item.get("end"), NO_END)
    if not who or start is None or end is None or start >= end:
        return None
    address = clean_name(user["email"]) if isinstance(user.get("email"), str) else None
    level = item.get("escalation_level")
    return ExternalShift(
        start, end, who, address or None, level if type(level) is int and 1 <= level <= 100 else 1
    )


def _parse_time(text: object, where_none: datetime) -> datetime | None:
    return where_none if text is None else parse_utc(text)

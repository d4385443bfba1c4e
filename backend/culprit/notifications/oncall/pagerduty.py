"""On-calls as PagerDuty tells them: GET /oncalls of its REST API, version 2, page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from culprit.core.oncall import FOREVER
from culprit.infra.addresses import Rule
from culprit.infra.outgoing import OutgoingError, Request, fetch, place_of
from culprit.oncall.found import MAX_TURNS, Found, Unreadable, in_utc, plain

PAGE = 100
MAX_PAGES = MAX_TURNS // PAGE
PAGE_BYTES = 2 << 20
PAGE_S = 15.0
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """All that is needed to ask."""

    url: str
    token: str = field(repr=False)
    schedules: Sequence[str]
    policies: Sequence[str]
    rules: tuple[Rule, ...]


def ask(asked: Asked, start: datetime, end: datetime) -> list[Found]:
    """Everybody who is on call between `start` and `end`. Raises OutgoingError or Unreadable."""
    found: list[Found] = []
    for number in range(MAX_PAGES):
        place = place_of(asked.url)
        told = [
            ("since", start.isoformat()), ("until", end.isoformat()), ("time_zone", "UTC"),
            ("include[]", "users"), ("limit", str(PAGE)), ("offset", str(number * PAGE)),
            *(("schedule_ids[]", one) for one in asked.schedules),
            *(("escalation_policy_ids[]", one) for one in asked.policies),
        ]  # fmt: skip
        headers = {
            "Authorization": f"Token token={asked.token}",
            "Accept": "application/vnd.pagerduty+json;version=2",
        }
        request = Request(place, f"{place.path}/oncalls?{urlencode(told)}", headers)
        reply = fetch(request, asked.rules, total_s=PAGE_S, limit=PAGE_BYTES)
        if reply.status != 200:
            raise OutgoingError("status", host=place.host, status=reply.status)
        page, more = read(reply.body)
        found += page
        if not more:
            break
    return found


def read(body: bytes) -> tuple[list[Found], bool]:
    """The on-calls of one page, and whether there are more. Entries that make no sense are left out.

    Raises Unreadable where it is no such page. An on-call without times goes on for ever, as PagerDuty says.
    """
    try:
        page = json.loads(body)
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict) or not isinstance(page.get("oncalls"), list):
        raise Unreadable("oncall.pagerduty_garbled")
    found = [turn for one in page["oncalls"][: PAGE * 10] if (turn := _turn(one)) is not None]
    return found, page.get("more") is True


def _turn(one: object) -> Found | None:
    if not isinstance(one, Mapping) or not isinstance(one.get("user"), Mapping):
        return None
    user: Mapping[str, Any] = one["user"]
    who = plain(user.get("name") or user.get("summary") or user.get("email") or "")
    start, end = _time(one.get("start"), LONG_AGO), _time(one.get("end"), FOREVER)
    if not who or start is None or end is None or start >= end:
        return None
    address = plain(user["email"]) if isinstance(user.get("email"), str) else None
    level = one.get("escalation_level")
    return Found(start, end, who, address or None, level if type(level) is int and 1 <= level <= 100 else 1)


def _time(text: object, where_none: datetime) -> datetime | None:
    return where_none if text is None else in_utc(text)

"""Request bodies of reports."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, StringConstraints

from culprit.incidents.records.requests import (
    LongText,
    PlausibleTime,
    RequiredLine,
    StrictRequest,
    VersionedRequest,
)

Kind = Literal["secret", "email", "word", "path", "argument", "sql", "host", "user", "address", "symbol"]
Preset = Literal["internal", "customer"]
Language = Literal["en", "zh"]
Form = Literal["html", "markdown", "json"]
Word = Annotated[
    str, StringConstraints(pattern=r"^[^\x00]+$", min_length=2, max_length=200, strip_whitespace=True)
]
MAX_WORDS = 500
MAX_FOLLOW_UPS = 100
MAX_DAYS = 90


def _validate_zone(zone: str) -> str:
    if zone not in available_timezones():
        raise ValueError("not a time zone of the IANA database")
    return zone


Zone = Annotated[str, StringConstraints(max_length=60), AfterValidator(_validate_zone)]
Kinds = Annotated[list[Kind], Field(max_length=20)]
Words = Annotated[list[Word], Field(max_length=MAX_WORDS)]


class FollowUp(StrictRequest):
    """Open task, with its owner and due date if they are known."""

    what: RequiredLine
    who: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=100, strip_whitespace=True)] = ""
    due: datetime | None = None
    done: bool = False


class ReportCreate(StrictRequest):
    """New report. Missing fields come from the incident and the preset."""

    title: RequiredLine | None = None
    language: Language = "en"
    zone: Zone = "UTC"
    preset: Preset = "customer"


class ReportUpdate(VersionedRequest):
    """Changes of the draft. `comments` includes the comments of the incident in the timeline.

    `kinds` are the redacted kinds; a new preset replaces them.
    """

    title: RequiredLine | None = None
    language: Language | None = None
    zone: Zone | None = None
    preset: Preset | None = None
    kinds: Kinds | None = None
    words: Words | None = None
    summary: LongText | None = None
    impact: LongText | None = None
    detected_at: PlausibleTime | None = None
    mitigated_at: PlausibleTime | None = None
    follow_ups: Annotated[list[FollowUp], Field(max_length=MAX_FOLLOW_UPS)] | None = None
    comments: bool | None = None


class ShareCreate(StrictRequest):
    """Share link that expires after some days. `note` names its recipient."""

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 14
    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=200, strip_whitespace=True)] = ""


class VersionRequest(StrictRequest):
    """Version of the draft that the client displayed."""

    version: Annotated[int, Field(ge=1, le=(1 << 31) - 1)]

"""What comes in about reports."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, StringConstraints

from culprit.incidents.given import Given, Moment, Prose, Said, Seen

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


def _known(zone: str) -> str:
    if zone not in available_timezones():
        raise ValueError("not a time zone of the IANA database")
    return zone


Zone = Annotated[str, StringConstraints(max_length=60), AfterValidator(_known)]
Kinds = Annotated[list[Kind], Field(max_length=20)]
Words = Annotated[list[Word], Field(max_length=MAX_WORDS)]


class FollowUp(Given):
    """What is still to be done, by whom and until when as far as that is known."""

    what: Said
    who: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=100, strip_whitespace=True)] = ""
    due: datetime | None = None
    done: bool = False


class ReportCreate(Given):
    """A report of an incident. What is left out is taken from the incident and from the preset."""

    title: Said | None = None
    language: Language = "en"
    zone: Zone = "UTC"
    preset: Preset = "customer"


class ReportPatch(Seen):
    """What changes in the draft. `comments`: those of the incident are told in its timeline.

    `kinds` are what is redacted; another preset brings its own.
    """

    title: Said | None = None
    language: Language | None = None
    zone: Zone | None = None
    preset: Preset | None = None
    kinds: Kinds | None = None
    words: Words | None = None
    summary: Prose | None = None
    impact: Prose | None = None
    detected_at: Moment | None = None
    mitigated_at: Moment | None = None
    follow_ups: Annotated[list[FollowUp], Field(max_length=MAX_FOLLOW_UPS)] | None = None
    comments: bool | None = None


class ShareCreate(Given):
    """A link that ends after some days. `note` says whom it is for."""

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 14
    note: Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=200, strip_whitespace=True)] = ""


class Which(Given):
    """Nothing but the version of the draft that the person saw."""

    version: Annotated[int, Field(ge=1, le=(1 << 31) - 1)]

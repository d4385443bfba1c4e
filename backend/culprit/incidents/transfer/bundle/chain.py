"""What people and rules said of an incident, as a bundle holds it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from culprit.carried.form_words import Carried, Digest, Json, Line, Prose, Told, Who
from culprit.incidents.given import Key

Verdict = Literal["supports", "refutes", "inconclusive", "not_collected"]


class PlaybookForm(Carried):
    """A playbook as it was asked."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]
    digest: Digest
    content: Json
    aside_reason: Prose | None
    aside_by: Who
    aside_at: AwareDatetime | None


class HypothesisForm(Carried):
    """An explanation: what people decided of it, and where its evidence stood."""

    id: UUID
    key: Key
    says: dict[Literal["en", "zh"], Line]
    cause: Annotated[str, StringConstraints(max_length=200)]
    primary: Json | None
    state: Literal["open", "refuted", "likely", "confirmed"]
    standing: Annotated[str, StringConstraints(max_length=50)]
    created_at: AwareDatetime


class StepForm(Carried):
    """What a step showed of a host; `rule` is what the rules alone said. `muted`: its rule did not count there."""

    step: Key
    host: UUID
    run: UUID | None
    verdict: Verdict
    by: Literal["rule", "person", "nobody"]
    rule: Verdict
    muted: bool


class VerdictForm(Carried):
    """What somebody said, and the pins that show it."""

    id: UUID
    step: Key
    about: Annotated[str, StringConstraints(max_length=201)]
    host: UUID | None
    verdict: Literal["supports", "refutes", "inconclusive"]
    note: Prose
    by: Who
    at: AwareDatetime
    pins: Annotated[list[UUID], Field(max_length=200)]


class PinForm(Carried):
    """A place; `runs` are those that it shows."""

    id: UUID
    kind: Literal["range", "frame", "row", "line", "comparison"]
    ref: Json
    view: Annotated[str, StringConstraints(pattern=r"^/([^/\\\x00][^\x00]*)?$", max_length=4000)]
    said: Json
    runs: list[UUID]
    step: Key | None
    by: Who
    at: AwareDatetime


class WaiverForm(Carried):
    """A step that may stay unanswered."""

    step: Key
    reason: Prose
    by: Who
    at: AwareDatetime


class OutcomeForm(Carried):
    """Whether a cause was it."""

    cause: Annotated[str, StringConstraints(max_length=200)]
    right: bool
    true_cause: Annotated[str, StringConstraints(max_length=200)] | None
    pins: list[UUID]
    note: Prose
    by: Who
    at: AwareDatetime


class FixForm(Carried):
    """What was changed."""

    id: UUID
    hypothesis: UUID | None
    card: Line
    what: Prose
    hosts: list[UUID]
    command: Prose
    risk: Prose
    way_back: Prose
    applied_at: AwareDatetime | None
    state: Literal["planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted"]
    by: Who
    at: AwareDatetime


class VerificationForm(Carried):
    """Whether it helped. `before` are runs, `made_before` and `after` captures."""

    id: UUID
    fix: UUID
    kind: Literal["plain", "control", "cohort"]
    primary: Json | None
    bar: float | None
    before: list[UUID]
    made_before: list[UUID]
    after: list[UUID]
    control: UUID | None
    state: Literal["done", "failed", "cancelled"]
    result: Json | None
    failure: Told | None
    by: Who
    at: AwareDatetime
    ended_at: AwareDatetime | None


class CommentForm(Carried):
    """What somebody wrote beside it."""

    about: Line
    text: Prose
    by: Who
    at: AwareDatetime

"""The evidence chain in a bundle: playbooks, hypotheses, verdicts, pins, fixes and comments."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from culprit.incidents.records.requests import StepKey
from culprit.incidents.transfer.bundle.base import (
    BundleMessage,
    BundleModel,
    BundleText,
    Digest,
    Line,
    PersonName,
)
from culprit.json_types import Json

Verdict = Literal["supports", "refutes", "inconclusive", "not_collected"]


class PlaybookForm(BundleModel):
    """A playbook in its attached version."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]
    digest: Digest
    content: Json
    dismissed_reason: BundleText | None
    dismissed_by: PersonName
    dismissed_at: AwareDatetime | None


class HypothesisForm(BundleModel):
    """A hypothesis: its decision and the original status of its evidence."""

    id: UUID
    key: StepKey
    summary: dict[Literal["en", "zh"], Line]
    cause: Annotated[str, StringConstraints(max_length=200)]
    primary: Json | None
    state: Literal["open", "refuted", "likely", "confirmed"]
    status: Annotated[str, StringConstraints(max_length=50)]
    created_at: AwareDatetime


class StepForm(BundleModel):
    """The answer of a step on a host; `rule` is the verdict of the rules alone. `muted`: its rule was muted."""

    step: StepKey
    host: UUID
    run: UUID | None
    verdict: Verdict
    by: Literal["rule", "person", "none"]
    rule: Verdict
    muted: bool


class VerdictForm(BundleModel):
    """A verdict of a user with its pins."""

    id: UUID
    step: StepKey
    about: Annotated[str, StringConstraints(max_length=201)]
    host: UUID | None
    verdict: Literal["supports", "refutes", "inconclusive"]
    note: BundleText
    by: PersonName
    at: AwareDatetime
    pins: Annotated[list[UUID], Field(max_length=200)]


class PinForm(BundleModel):
    """A pin; `runs` are the runs that it cites."""

    id: UUID
    kind: Literal["range", "frame", "row", "line", "comparison"]
    ref: Json
    view: Annotated[str, StringConstraints(pattern=r"^/([^/\\\x00][^\x00]*)?$", max_length=4000)]
    snapshot: Json
    runs: list[UUID]
    step: StepKey | None
    by: PersonName
    at: AwareDatetime


class WaiverForm(BundleModel):
    """A waived step."""

    step: StepKey
    reason: BundleText
    by: PersonName
    at: AwareDatetime


class OutcomeForm(BundleModel):
    """The outcome of a cause."""

    cause: Annotated[str, StringConstraints(max_length=200)]
    right: bool
    true_cause: Annotated[str, StringConstraints(max_length=200)] | None
    pins: list[UUID]
    note: BundleText
    by: PersonName
    at: AwareDatetime


class FixForm(BundleModel):
    """A fix."""

    id: UUID
    hypothesis: UUID | None
    remediation: Line
    what: BundleText
    hosts: list[UUID]
    command: BundleText
    risk: BundleText
    rollback: BundleText
    applied_at: AwareDatetime | None
    state: Literal["planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted"]
    by: PersonName
    at: AwareDatetime


class VerificationForm(BundleModel):
    """A verification. `before` are runs, `captures_before` and `after` captures."""

    id: UUID
    fix: UUID
    kind: Literal["plain", "control", "cohort"]
    primary: Json | None
    minimum_change: float | None
    before: list[UUID]
    captures_before: list[UUID]
    after: list[UUID]
    control: UUID | None
    state: Literal["done", "failed", "canceled"]
    result: Json | None
    failure: BundleMessage | None
    by: PersonName
    at: AwareDatetime
    ended_at: AwareDatetime | None


class CommentForm(BundleModel):
    """A comment."""

    about: Line
    text: BundleText
    by: PersonName
    at: AwareDatetime

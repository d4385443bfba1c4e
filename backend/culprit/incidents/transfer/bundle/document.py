"""What an exported incident holds: `manifest.json`, `incident.json` as below, and `artifacts/<SHA-256>` as stored.

Ids are those of the Culprit that wrote it and mean something within the bundle only. People are text. The format is 2;
1 was the regression bundle, a case for rules without names and pins, which `culprit.incidents.bundle` still writes.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from culprit.carried.form_captured import (
    ArtifactForm,
    CaptureForm,
    CollectorForm,
    DiffForm,
    ProfileForm,
    RunForm,
)
from culprit.carried.form_said import (
    CommentForm,
    FixForm,
    HypothesisForm,
    OutcomeForm,
    PinForm,
    PlaybookForm,
    StepForm,
    VerdictForm,
    VerificationForm,
    WaiverForm,
)
from culprit.carried.form_words import MANY, Carried, Count, Digest, Json, Line, Name, Small
from culprit.incidents.given import Role, State, Symptom

FORMAT = "culprit-incident"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
DOCUMENT = "incident.json"
ARTIFACTS = "artifacts/"
MAX_DOCUMENT = 24 << 20
MAX_MEMBERS = 5000
MAX_BYTES = 1 << 30


class Member(Carried):
    """A file of the bundle."""

    name: str
    sha256: Digest
    size: Count


class Manifest(Carried):
    """What the bundle is made of."""

    format: Literal["culprit-incident"]
    format_version: Literal[2]
    culprit: Name
    members: Annotated[list[Member], Field(max_length=MAX_MEMBERS)]


class Origin(Carried):
    """Where it is from. `rules` is the digest of the rules that judged it there."""

    culprit: Name
    number: Small
    written_at: AwareDatetime
    redacted: bool
    rules: Digest


class Head(Carried):
    """The incident itself."""

    id: UUID
    title: Line
    symptom: Symptom
    severity: Annotated[int, Field(ge=1, le=4)]
    state: State
    window_from: AwareDatetime
    window_to: AwareDatetime | None
    created_at: AwareDatetime
    resolved_at: AwareDatetime | None


class HostForm(Carried):
    """A host, by name alone: no address, no account, no key."""

    id: UUID
    name: Name
    scope: Json
    role: Role


class Document(Carried):
    """All of it."""

    origin: Origin
    incident: Head
    hosts: Annotated[list[HostForm], Field(max_length=500)]
    playbooks: Annotated[list[PlaybookForm], Field(max_length=100)]
    hypotheses: Annotated[list[HypothesisForm], Field(max_length=1000)]
    steps: Annotated[list[StepForm], Field(max_length=MANY)]
    verdicts: Annotated[list[VerdictForm], Field(max_length=MANY)]
    pins: Annotated[list[PinForm], Field(max_length=MANY)]
    waivers: Annotated[list[WaiverForm], Field(max_length=MANY)]
    outcomes: Annotated[list[OutcomeForm], Field(max_length=1000)]
    fixes: Annotated[list[FixForm], Field(max_length=1000)]
    verifications: Annotated[list[VerificationForm], Field(max_length=1000)]
    captures: Annotated[list[CaptureForm], Field(max_length=MANY)]
    runs: Annotated[list[RunForm], Field(max_length=MANY)]
    collectors: Annotated[list[CollectorForm], Field(max_length=MANY)]
    artifacts: Annotated[list[ArtifactForm], Field(max_length=MANY)]
    profiles: Annotated[list[ProfileForm], Field(max_length=MANY)]
    diffs: Annotated[list[DiffForm], Field(max_length=1000)]
    comments: Annotated[list[CommentForm], Field(max_length=1000)]

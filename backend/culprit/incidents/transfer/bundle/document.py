"""The format of an exported incident: `manifest.json`, `incident.json` as below, and `artifacts/<SHA-256>` as stored.

IDs are those of the exporting Culprit and are valid only within the bundle. Users are names. The format version is 2;
1 was the regression bundle, which `culprit.incidents.regression_bundle.write` still writes.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from culprit.incidents.records.requests import IncidentHostRole, IncidentState, Symptom
from culprit.incidents.transfer.bundle.base import MAX_ITEMS, BundleModel, Count, Digest, Line, Name, Small
from culprit.incidents.transfer.bundle.captures import (
    ArtifactForm,
    CaptureForm,
    CollectorForm,
    ComparisonForm,
    ProfileForm,
    RunForm,
)
from culprit.incidents.transfer.bundle.chain import (
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
from culprit.json_types import Json

FORMAT = "culprit-incident"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
DOCUMENT = "incident.json"
ARTIFACTS = "artifacts/"
MAX_DOCUMENT = 24 << 20
MAX_MEMBERS = 5000
MAX_BYTES = 1 << 30


class BundleMember(BundleModel):
    """A file of the bundle."""

    name: str
    sha256: Digest
    size: Count


class BundleManifest(BundleModel):
    """The members of the bundle."""

    format: Literal["culprit-incident"]
    format_version: Literal[2]
    culprit: Name
    members: Annotated[list[BundleMember], Field(max_length=MAX_MEMBERS)]


class BundleOrigin(BundleModel):
    """The exporting Culprit. `rules` is the digest of its rules."""

    culprit: Name
    number: Small
    written_at: AwareDatetime
    redacted: bool
    rules: Digest


class IncidentForm(BundleModel):
    """The incident."""

    id: UUID
    title: Line
    symptom: Symptom
    severity: Annotated[int, Field(ge=1, le=4)]
    state: IncidentState
    window_from: AwareDatetime
    window_to: AwareDatetime | None
    created_at: AwareDatetime
    resolved_at: AwareDatetime | None


class HostForm(BundleModel):
    """A host: its name, without address, account or key."""

    id: UUID
    name: Name
    scope: Json
    role: IncidentHostRole


class BundleDocument(BundleModel):
    """The document `incident.json`."""

    origin: BundleOrigin
    incident: IncidentForm
    hosts: Annotated[list[HostForm], Field(max_length=500)]
    playbooks: Annotated[list[PlaybookForm], Field(max_length=100)]
    hypotheses: Annotated[list[HypothesisForm], Field(max_length=1000)]
    steps: Annotated[list[StepForm], Field(max_length=MAX_ITEMS)]
    verdicts: Annotated[list[VerdictForm], Field(max_length=MAX_ITEMS)]
    pins: Annotated[list[PinForm], Field(max_length=MAX_ITEMS)]
    waivers: Annotated[list[WaiverForm], Field(max_length=MAX_ITEMS)]
    outcomes: Annotated[list[OutcomeForm], Field(max_length=1000)]
    fixes: Annotated[list[FixForm], Field(max_length=1000)]
    verifications: Annotated[list[VerificationForm], Field(max_length=1000)]
    captures: Annotated[list[CaptureForm], Field(max_length=MAX_ITEMS)]
    runs: Annotated[list[RunForm], Field(max_length=MAX_ITEMS)]
    collectors: Annotated[list[CollectorForm], Field(max_length=MAX_ITEMS)]
    artifacts: Annotated[list[ArtifactForm], Field(max_length=MAX_ITEMS)]
    profiles: Annotated[list[ProfileForm], Field(max_length=MAX_ITEMS)]
    comparisons: Annotated[list[ComparisonForm], Field(max_length=1000)]
    comments: Annotated[list[CommentForm], Field(max_length=1000)]

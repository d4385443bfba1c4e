"""Captures, runs, artifacts and profiles in a bundle."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from culprit.domain.rules.finding import FindingState as RuleState
from culprit.evidence.profiles.schemas import ProfileFilterParams
from culprit.incidents.records.requests import RunRole, StepKey
from culprit.incidents.transfer.bundle.base import (
    BundleMessage,
    BundleModel,
    BundleText,
    Count,
    Digest,
    Line,
    Name,
    Ns,
    Small,
)
from culprit.json_types import Json

#: Why an artifact of the incident is not in its bundle.
OmissionReason = Literal["gone", "altered", "no_text", "reads_otherwise", "too_large", "as_profile"]
MAX_SIDE_PROFILES = 64


class CaptureForm(BundleModel):
    """A capture."""

    id: UUID
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]
    collectors: Annotated[list[Json], Field(max_length=500)]
    seconds: Annotated[float, Field(ge=0, le=1e6)] | None
    scope: Json
    reason: BundleText
    state: Literal["done", "partial", "failed", "canceled", "expired"]
    created_at: AwareDatetime


class RuleVerdictForm(BundleModel):
    """The result of a rule on a run: its strongest state, and the number of subjects with it."""

    rule: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9-]{1,100}$")]
    state: RuleState
    subjects: Small


class RunForm(BundleModel):
    """A run with its clock readings. `rule_verdicts` are its original results, None if it was not evaluated.

    A run without a role is not part of the incident: a pin or a verification cites it.
    """

    id: UUID
    capture: UUID
    host: UUID | None
    role: RunRole | None
    fix: UUID | None
    step: StepKey | None
    state: Literal["done", "partial", "failed", "canceled", "expired"]
    failure: BundleMessage | None
    failure_side: Literal["worker", "host", "user"] | None
    boot_id: Annotated[str, StringConstraints(max_length=64)] | None
    clock: Json | None
    host_cpu_ms: float | None
    t0_ns: Ns
    t1_ns: Ns
    target: Json | None
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    rule_verdicts: Annotated[list[RuleVerdictForm], Field(max_length=2000)] | None


class CollectorForm(BundleModel):
    """A collector of a run and how it ended."""

    id: UUID
    run: UUID
    collector: Name
    state: Literal["done", "skipped", "failed", "timed_out", "unreadable", "canceled"]
    reason: BundleMessage | None
    method: Line | None
    argv: BundleText | None
    exit_code: Annotated[int, Field(ge=-(1 << 31), le=(1 << 31) - 1)] | None
    tool_version: Line | None
    started_ns: Ns
    ended_ns: Ns
    cpu_ms: float | None
    bytes: Count
    stderr_tail: BundleText | None
    parser_version: Small | None


class ArtifactForm(BundleModel):
    """A part of an artifact: in the bundle under `sha256`, or left out."""

    id: UUID
    run: UUID
    collector: UUID | None
    part: Name
    sha256: Digest
    size: Count
    encoding: Literal["identity", "gzip", "zstd"]
    media_type: Line
    complete: bool
    attempt: Small
    left_out: OmissionReason | None


class ProfileForm(BundleModel):
    """A profile that a pin or comparison cites, by the collector, kind and event that it is built from.

    The event is empty if the profile was never built.
    """

    id: UUID
    run: UUID
    collector: UUID
    kind: Name
    event: Annotated[str, StringConstraints(max_length=200)]
    unit: Line


class SideForm(BundleModel):
    """Profiles that are merged, and the filter of their samples."""

    profiles: Annotated[list[UUID], Field(min_length=1, max_length=MAX_SIDE_PROFILES)]
    filter: ProfileFilterParams


class ComparisonForm(BundleModel):
    """A comparison of profiles that a pin or verification cites; the result is built again."""

    id: UUID
    before: SideForm
    after: SideForm
    normalize: bool
    by_base: bool

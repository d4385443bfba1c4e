"""What was captured for an incident, as a bundle holds it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from culprit.carried.form_words import Carried, Count, Digest, Json, Line, Name, Ns, Prose, Small, Told
from culprit.core.rules.contract import State as RuleState
from culprit.incidents.given import Key, RunRole
from culprit.profiles.schemas import FilterParams

#: Why bytes that belong to the incident are not in its bundle.
LeftOut = Literal["gone", "altered", "no_text", "reads_otherwise", "too_large"]
MOST_OF_A_SIDE = 64


class CaptureForm(Carried):
    """What was asked for."""

    id: UUID
    plan: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]
    collectors: Annotated[list[Json], Field(max_length=500)]
    seconds: Annotated[float, Field(ge=0, le=1e6)] | None
    scope: Json
    reason: Prose
    state: Literal["done", "partial", "failed", "cancelled", "expired"]
    created_at: AwareDatetime


class Spoke(Carried):
    """What a rule said of a run: its loudest word, and of how many subjects."""

    rule: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9-]{1,100}$")]
    state: RuleState
    subjects: Small


class RunForm(Carried):
    """A run with its clock readings. `spoke` is what the rules said of it there, None where they were never asked.

    One without a role is not the incident's: a pin shows it, or a fix was compared with it.
    """

    id: UUID
    capture: UUID
    host: UUID | None
    role: RunRole | None
    fix: UUID | None
    step: Key | None
    state: Literal["done", "partial", "failed", "cancelled", "expired"]
    failure: Told | None
    failure_side: Literal["worker", "host", "user"] | None
    boot_id: Annotated[str, StringConstraints(max_length=64)] | None
    clock: Json | None
    host_cpu_ms: float | None
    t0_ns: Ns
    t1_ns: Ns
    target: Json | None
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    spoke: Annotated[list[Spoke], Field(max_length=2000)] | None


class CollectorForm(Carried):
    """A collector of a run and how it ended."""

    id: UUID
    run: UUID
    collector: Name
    state: Literal["done", "skipped", "failed", "timed_out", "unreadable", "cancelled"]
    reason: Told | None
    way: Line | None
    argv: Prose | None
    exit_code: Annotated[int, Field(ge=-(1 << 31), le=(1 << 31) - 1)] | None
    tool_version: Line | None
    started_ns: Ns
    ended_ns: Ns
    cpu_ms: float | None
    bytes: Count
    stderr_tail: Prose | None
    parser_version: Small | None


class ArtifactForm(Carried):
    """A part of what a collector left: in the bundle under `sha256`, or left out."""

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
    left_out: LeftOut | None


class ProfileForm(Carried):
    """A profile that a pin or a comparison shows, by the collector, kind and event that it is built from.

    Its event is empty where it was never built.
    """

    id: UUID
    run: UUID
    collector: UUID
    kind: Name
    event: Annotated[str, StringConstraints(max_length=200)]
    unit: Line


class SideForm(Carried):
    """Profiles that are drawn as one, and which of their samples."""

    profiles: Annotated[list[UUID], Field(min_length=1, max_length=MOST_OF_A_SIDE)]
    filter: FilterParams


class DiffForm(Carried):
    """A comparison of profiles that a pin or a verification shows: the question, as the answer is drawn again."""

    id: UUID
    before: SideForm
    after: SideForm
    normalise: bool
    by_base: bool

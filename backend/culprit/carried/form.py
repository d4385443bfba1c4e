"""What an exported incident holds: `manifest.json`, `incident.json` as below, and `artifacts/<SHA-256>` as stored.

Ids are those of the Culprit that wrote it and mean something within the bundle only. People are text. The format is 2;
1 was the regression bundle, a case for rules without names and pins, which `culprit.incidents.bundle` still writes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from culprit.core.rules.contract import State as RuleState
from culprit.incidents.given import Key, Role, RunRole, State, Symptom

FORMAT = "culprit-incident"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"
DOCUMENT = "incident.json"
ARTIFACTS = "artifacts/"
MAX_DOCUMENT = 24 << 20
MAX_MEMBERS = 5000
MAX_BYTES = 1 << 30
MANY = 20_000

Json = dict[str, Any]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Line = Annotated[str, StringConstraints(max_length=1000)]
Prose = Annotated[str, StringConstraints(max_length=100_000)]
Who = Annotated[str, StringConstraints(max_length=200)] | None
Count = Annotated[int, Field(ge=0, le=(1 << 62))]
Small = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]
Ns = Annotated[int, Field(ge=-(1 << 62), le=(1 << 62))] | None
Verdict = Literal["supports", "refutes", "inconclusive", "not_collected"]
#: Why bytes that belong to the incident are not in its bundle.
LeftOut = Literal["gone", "altered", "no_text", "reads_otherwise", "too_large"]


class Carried(BaseModel):
    """What nobody knows here is refused: it could change the meaning of the rest."""

    model_config = ConfigDict(extra="forbid")


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


class Told(Carried):
    """A sentence by its key."""

    key: Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,200}$")]
    params: dict[str, Any] = {}


class Origin(Carried):
    """Where it is from. `rules` is the digest of the rules that judged it there."""

    culprit: Name
    number: Small
    written_at: AwareDatetime
    redacted: bool
    rules: Digest


class Head(Carried):
    """The incident itself."""

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
    """A profile that a pin shows, by the collector and kind that it is built from."""

    id: UUID
    run: UUID
    collector: UUID
    kind: Name
    unit: Line


class CommentForm(Carried):
    """What somebody wrote beside it."""

    about: Line
    text: Prose
    by: Who
    at: AwareDatetime


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
    comments: Annotated[list[CommentForm], Field(max_length=1000)]

"""What goes in and out about findings, rules, causes and thresholds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

Sentence = dict[str, Any]
Severity = Literal["info", "warn", "critical"]
Grade = Literal["direct", "mechanism", "correlational", "context"]


class TextRead(BaseModel):
    """A fixed text."""

    en: str
    zh: str


class CitationRead(BaseModel):
    """Where a number was read: lines of a part of an artifact, or a frame of a profile."""

    run: str = ""
    collector: str = ""
    artifact: str = ""
    part: str = ""
    lines: list[int] = []
    profile: str = ""
    frame: str = ""


class NumberRead(BaseModel):
    """One number; `baseline` is the same number before, where there is one.

    `op` and `threshold` are null where it was compared with nothing. `subject` is what it is about where that is more
    than what the finding is about.
    """

    measure: str
    value: float
    unit: str
    op: str | None
    threshold: float | None
    baseline: float | None
    n: int
    subject: dict[str, str] | None = None
    citations: list[CitationRead]


class FindingRead(BaseModel):
    """What one rule said about one subject; `numbers[0]` is the rule's own, and those without `op` come last."""

    rule: str
    state: Literal["fired", "quiet", "inconclusive", "not_evaluated"]
    severity: Severity
    grade: Grade
    subject: dict[str, str]
    numbers: list[NumberRead]
    reason: Sentence | None
    detail: dict[str, Any]


class LocatorRead(BaseModel):
    """Where in the artifact."""

    run: str = ""
    collector: str = ""
    part: str = ""
    lines: list[int] = []
    profile: str = ""
    frame: str = ""


class EvidenceRead(BaseModel):
    """One number that speaks for or against a cause, or stands beside those that do: then `op` is null."""

    finding: str
    grade: Grade
    severity: Severity
    subject: dict[str, str]
    metric: str
    value: float
    unit: str
    op: str | None
    threshold: float | None
    baseline: float | None
    n: int
    artifact: str | None
    locator: LocatorRead
    detail: dict[str, Any]


class CauseNamed(BaseModel):
    """A cause that was named, with the numbers that prove it and the causes that it explains."""

    id: str
    scope: dict[str, str]
    confidence: Literal["likely", "possible", "confirmed"]
    evidence: list[EvidenceRead]
    explains: list[str]


class RuledOutRead(BaseModel):
    """A cause that was looked for and not found."""

    id: str
    by: list[EvidenceRead]


class NotCollectedRead(BaseModel):
    """A rule that nothing could be said about, and why."""

    finding: str
    reason: Sentence | None


class RankingRead(BaseModel):
    """What findings add up to."""

    causes: list[CauseNamed] = []
    ruled_out: list[RuledOutRead] = []
    not_looked_at: list[str] = []
    open: list[str] = []
    not_collected: list[NotCollectedRead] = []
    inconclusive: list[FindingRead] = []
    set_aside: list[FindingRead] = []
    context: list[FindingRead] = []


class RunFindingsRead(BaseModel):
    """Everything that rules said about one run. `evaluated_at` is None until they were asked."""

    run_id: UUID
    evaluated_at: datetime | None
    elapsed_ms: float | None
    findings: list[FindingRead]
    quiet: list[FindingRead]
    not_evaluated: list[FindingRead]
    ranking: RankingRead


class HostFindingsRead(RunFindingsRead):
    """The findings of the newest evaluated run on a host."""

    run_ended_at: datetime | None
    plan: str


class LimitRead(BaseModel):
    """One threshold of a rule. `title` says what is measured, where that is no plain metric."""

    name: str
    measure: str
    title: TextRead | None
    op: str
    value: float
    unit: str
    source: str
    severity: Severity | None
    against: Literal["limit", "baseline"]


class BesideRead(BaseModel):
    """A number that a rule tells beside those that it compares."""

    measure: str
    title: TextRead
    unit: str


class RuleRead(BaseModel):
    """One rule as it is published."""

    id: str
    title: TextRead
    says: TextRead
    traps: TextRead | None
    grade: Grade
    measure: str
    unit: str
    collectors: list[list[str]]
    limits: list[LimitRead]
    beside: list[BesideRead]
    causes: list[str]
    refutes: list[str]
    refuted_by: list[str]
    source: str


class CauseRead(BaseModel):
    """One cause as it is published, and how often it was named in incidents and was it, and was not."""

    id: str
    title: TextRead
    what: TextRead
    fix: TextRead
    risk: TextRead
    verify: TextRead
    explains: list[str]
    suspected_by: list[str]
    tested_by: list[str]
    proven: bool
    rules: list[str]
    right: int
    wrong: int


class ThresholdSet(BaseModel):
    """Another value for one limit, `<rule>.<limit>`: for the fleet, for a label, or for one host."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^F-[A-Z0-9-]{2,60}\.[a-z0-9_]{1,40}$")]
    value: Annotated[float, Field(allow_inf_nan=False)]
    label_name: Annotated[str | None, Field(max_length=63)] = None
    label_value: Annotated[str | None, Field(max_length=200)] = None
    host_id: UUID | None = None
    why: Annotated[str, Field(min_length=3, max_length=500)]

    @model_validator(mode="after")
    def one_place(self) -> ThresholdSet:
        """A label has a name and a value; a host and a label are two places."""
        if (self.label_name is None) != (self.label_value is None):
            raise ValueError("a label has a name and a value")
        if self.host_id is not None and self.label_name is not None:
            raise ValueError("either a host or a label")
        return self


class ThresholdRead(BaseModel):
    """A threshold that somebody set."""

    id: UUID
    name: str
    value: float
    default: float | None
    label_name: str | None
    label_value: str | None
    host_id: UUID | None
    why: str
    created_at: datetime

"""Request and response schemas of findings, rules, causes and thresholds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from culprit.web.schemas import LocalizedText, MessageRef

Severity = Literal["info", "warn", "critical"]
NumberKind = Literal["exact", "sampled", "events"]
Strength = Literal["direct", "mechanism", "correlational", "context"]


class CitationResponse(BaseModel):
    """The source of a number: lines of a part of an artifact, or a frame of a profile."""

    run: str = ""
    collector: str = ""
    artifact: str = ""
    part: str = ""
    lines: list[int] = []
    profile: str = ""
    frame: str = ""


class FindingNumberResponse(BaseModel):
    """One number of a finding. `baseline` is the value of the same number in the baseline run, if there is one.

    `op` and `threshold` are null for related numbers, which are not compared. `subject` is set if the number is about
    more than the finding, for example the control group of a process. `kind` is how the number was obtained: `exact`,
    from `sample_count` samples, or from events in a time. `low` and `high` are its 95 % interval; null where the
    samples do not limit it.
    """

    measure: str
    value: float
    unit: str
    op: str | None
    threshold: float | None
    baseline: float | None
    sample_count: int
    kind: NumberKind = "exact"
    low: float | None = None
    high: float | None = None
    subject: dict[str, str] | None = None
    citations: list[CitationResponse]


class FindingResponse(BaseModel):
    """The result of one rule for one subject. `numbers[0]` is its measure; related numbers come last."""

    rule: str
    state: Literal["matched", "not_matched", "inconclusive", "not_evaluated"]
    severity: Severity
    strength: Strength
    subject: dict[str, str]
    numbers: list[FindingNumberResponse]
    reason: MessageRef | None
    detail: dict[str, Any]


class EvidenceLocatorResponse(BaseModel):
    """The position in an artifact from which a number was read."""

    run: str = ""
    collector: str = ""
    part: str = ""
    lines: list[int] = []
    profile: str = ""
    frame: str = ""


class EvidenceResponse(BaseModel):
    """One number for or against a cause. `op` is null for related numbers.

    `kind`, `low` and `high` are as in a finding.
    """

    finding: str
    strength: Strength
    severity: Severity
    subject: dict[str, str]
    metric: str
    value: float
    unit: str
    op: str | None
    threshold: float | None
    baseline: float | None
    sample_count: int
    kind: NumberKind = "exact"
    low: float | None = None
    high: float | None = None
    artifact: str | None
    locator: EvidenceLocatorResponse
    detail: dict[str, Any]


class BoundedShareResponse(BaseModel):
    """A share in percent with its bounds."""

    pct: float
    low_pct: float
    high_pct: float


class NamedCauseResponse(BaseModel):
    """A named cause with its evidence and the causes that it explains.

    `share` is the part of the time of a harmed service that it explains; null if that is unknown.
    """

    id: str
    scope: dict[str, str]
    confidence: Literal["likely", "possible", "confirmed"]
    evidence: list[EvidenceResponse]
    explains: list[str]
    share: BoundedShareResponse | None = None


class ServiceRefResponse(BaseModel):
    """A service on the host: its program, and its busiest process with its control group."""

    service: str
    subject: dict[str, str]


class TimeShareResponse(BaseModel):
    """One activity of the threads and requests of a service.

    `share` is its part of the time that is not idle, null for idle threads; `wall_pct` its part of all time. `callee`
    is the service on this host that `target` reaches, whose account continues this one.
    """

    activity: str
    target: str
    operation: str
    callee: ServiceRefResponse | None
    wall_pct: float
    share: BoundedShareResponse | None
    longest_ms: float
    sample_count: int
    citations: list[CitationResponse] = []


class RanInsteadResponse(BaseModel):
    """A process that used the CPUs while a service waited for one, with its part of the used CPU time."""

    name: str
    pid: str
    pct: float


class TimeAccountResponse(BaseModel):
    """The time account of one service: its time by activity.

    `waiting` and `queued` are mean numbers of requests that it has taken, and that no thread has taken. `shares` and
    `idle` together are all time of its threads and requests.
    """

    service: str
    subject: dict[str, str]
    process_count: int
    is_harmed: bool
    waiting: float
    queued: float
    oldest_ms: float
    sample_count: int
    busy_pct: float
    citations: list[CitationResponse] = []
    shares: list[TimeShareResponse]
    idle: list[TimeShareResponse]
    ran_instead: list[RanInsteadResponse] = []


class RuledOutCauseResponse(BaseModel):
    """A cause that the evidence `by` contradicts."""

    id: str
    by: list[EvidenceResponse]


class UnevaluatedRuleResponse(BaseModel):
    """A rule that was not evaluated, and the reason."""

    finding: str
    reason: MessageRef | None


class RankingResponse(BaseModel):
    """Causes that follow from the findings.

    `not_checked` are causes without evidence for or against them, `open` are suspected causes, `refuted` are findings
    that another finding refutes, `harm` are findings of harm (such as failed requests), `context` are matched
    findings that support no named cause, the gravest first. `unexplained_pct` is the part of the time of the most
    harmed service that no likely cause explains; null if its time was not accounted for, or a likely cause states no
    mechanism.
    """

    causes: list[NamedCauseResponse] = []
    ruled_out: list[RuledOutCauseResponse] = []
    not_checked: list[str] = []
    open: list[str] = []
    not_collected: list[UnevaluatedRuleResponse] = []
    inconclusive: list[FindingResponse] = []
    refuted: list[FindingResponse] = []
    context: list[FindingResponse] = []
    harm: list[FindingResponse] = []
    time_accounts: list[TimeAccountResponse] = []
    unexplained_pct: float | None = None


class RunFindingsResponse(BaseModel):
    """All findings of one run. `evaluated_at` is null until the rules are evaluated."""

    run_id: UUID
    evaluated_at: datetime | None
    elapsed_ms: float | None
    findings: list[FindingResponse]
    not_matched: list[FindingResponse]
    not_evaluated: list[FindingResponse]
    ranking: RankingResponse


class HostFindingsResponse(RunFindingsResponse):
    """The findings of the newest complete run on a host, else of the newest one."""

    run_ended_at: datetime | None
    plan: str


class RuleThresholdResponse(BaseModel):
    """One threshold of a rule. `title` names the measure if it is not a plain metric."""

    name: str
    measure: str
    title: LocalizedText | None
    op: str
    value: float
    unit: str
    source: str
    severity: Severity | None
    against: Literal["threshold", "baseline"]


class RelatedNumberResponse(BaseModel):
    """A number that is displayed with a match and not compared with a threshold."""

    measure: str
    title: LocalizedText
    unit: str


class RuleResponse(BaseModel):
    """One rule."""

    id: str
    title: LocalizedText
    summary: LocalizedText
    caveats: LocalizedText | None
    strength: Strength
    measure: str
    unit: str
    collectors: list[list[str]]
    thresholds: list[RuleThresholdResponse]
    related: list[RelatedNumberResponse]
    causes: list[str]
    refutes: list[str]
    refuted_by: list[str]
    source: str


class CauseResponse(BaseModel):
    """One cause. `right` and `wrong` count how often incidents confirmed and rejected it."""

    id: str
    title: LocalizedText
    what: LocalizedText
    fix: LocalizedText
    risk: LocalizedText
    verify: LocalizedText
    explains: list[str]
    suspected_by: list[str]
    tested_by: list[str]
    proven: bool
    rules: list[str]
    right: int
    wrong: int


class ThresholdOverrideRequest(BaseModel):
    """A new value of one threshold, `<rule>.<threshold>`: for all hosts, for a label, or for one host."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=r"^F-[A-Z0-9-]{2,60}\.[a-z0-9_]{1,40}$")]
    value: Annotated[float, Field(allow_inf_nan=False)]
    label_name: Annotated[str | None, Field(max_length=63)] = None
    label_value: Annotated[str | None, Field(max_length=200)] = None
    host_id: UUID | None = None
    why: Annotated[str, Field(min_length=3, max_length=500)]

    @model_validator(mode="after")
    def validate_target(self) -> ThresholdOverrideRequest:
        """Require name and value of a label, and at most one of label and host."""
        if (self.label_name is None) != (self.label_value is None):
            raise ValueError("a label has a name and a value")
        if self.host_id is not None and self.label_name is not None:
            raise ValueError("either a host or a label")
        return self


class ThresholdOverrideResponse(BaseModel):
    """An overridden threshold."""

    id: UUID
    name: str
    value: float
    default: float | None
    label_name: str | None
    label_value: str | None
    host_id: UUID | None
    why: str
    created_at: datetime

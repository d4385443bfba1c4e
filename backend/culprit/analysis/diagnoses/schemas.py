"""Request and response schemas of diagnoses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from collectors.contract import TierName
from culprit.analysis.findings.schemas import RankingResponse
from culprit.domain.runs.states import RunState
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, HostRef, MessageRef

MAX_PEERS = 20
#: Length of the first stage.
DEFAULT_SECONDS = 8
#: Tiers of the stages of a diagnosis; ptrace always requires a person.
DiagnosisTier = Literal["light", "standard", "deep"]


class DiagnosisCreate(BaseModel):
    """A request to diagnose a host: its scope, the length of triage in seconds, and the baseline.

    `scope` is {"kind", "value"} as in a capture, or {"kind": "service"} with the name of a service or of a systemd
    unit. `baseline` is `auto`, `none`, or the ID of a run on the same host. `peer_ids` are hosts that run triage too.
    No stage has a higher tier than `max_tier`.
    """

    model_config = ConfigDict(extra="forbid")

    host_id: UUID
    scope: Annotated[dict[str, str] | None, Field(max_length=2)] = None
    seconds: Annotated[int, Field(ge=5, le=60)] = DEFAULT_SECONDS
    baseline: Annotated[str, Field(pattern=r"^(auto|none|[0-9a-f-]{36})$")] = "auto"
    peer_ids: Annotated[list[UUID], Field(max_length=MAX_PEERS)] = []
    max_tier: DiagnosisTier = "deep"
    reason: Annotated[str, Field(max_length=500)] = ""


class StageCause(BaseModel):
    """A cause that a stage and the stages before it name."""

    cause: str
    confidence: Literal["likely", "possible"]


class DiagnosisStageResponse(BaseModel):
    """One stage: its capture, collectors with their seconds, tier, and the hypotheses that it decides.

    `named` are the causes that this stage and those before it name, the first one first, `named_after_s` seconds after
    the diagnosis was created; None until the stage is evaluated.
    """

    capture_id: UUID
    run_id: UUID | None
    state: RunState
    tier: TierName
    seconds: float
    collectors: dict[str, int]
    hypotheses: list[str]
    refused: list[str]
    scope: dict[str, str]
    cpu_pct: float
    host_cpu_ms: float | None
    named: list[StageCause] | None = None
    named_after_s: float | None = None


class PeerDifference(BaseModel):
    """One fact, setting, metric or stack that differs between the host and its healthy peers."""

    kind: Literal["fact", "setting", "metric", "stack"]
    name: str
    local: str | int | float | bool | None
    peers: dict[str, str | int | float | bool | None]
    surprise_score: float
    agreement: float


class ConsumerResponse(BaseModel):
    """A process that uses much of a resource. CPU is in percent of one CPU, memory in bytes, disks in bytes/s."""

    resource: Literal["cpu", "memory", "disk_read", "disk_write"]
    pid: int
    name: str
    amount: float
    unit: str
    share_pct: float


class DeeperLookResponse(BaseModel):
    """A collector that was not run, its cost, and the causes that it would decide."""

    collector: str
    tier: TierName
    seconds: int
    cpu_pct: float
    decides: list[str]


class DiagnosisResult(RankingResponse):
    """The ranked causes of a diagnosis, as stored.

    `consumers` are the processes that use most of each resource, `deeper` the collectors that were not run.
    """

    refused: list[str]
    runs: list[str]
    baseline_run: str | None
    differences: list[PeerDifference]
    seconds: float
    consumers: list[ConsumerResponse] = Field(default_factory=list)
    deeper: list[DeeperLookResponse] = Field(default_factory=list)


class DiagnosisResponse(BaseModel):
    """A diagnosis. `result` has the causes with the evidence for and against them; None until it is computed."""

    id: UUID
    number: int
    host: HostRef
    scope: dict[str, str]
    seconds: int
    baseline: str
    baseline_run_id: UUID | None
    max_tier: DiagnosisTier
    peers: list[HostRef]
    reason: str
    state: Literal["running", "done", "failed", "canceled"]
    stages: list[DiagnosisStageResponse]
    result: Annotated[Json, DocumentedAs(DiagnosisResult)] | None
    failure: MessageRef | None
    created_at: datetime
    ended_at: datetime | None
    elapsed_s: float

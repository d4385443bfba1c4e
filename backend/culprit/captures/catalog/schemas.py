"""Responses of the catalog. Texts come in English and Chinese."""

from __future__ import annotations

from pydantic import BaseModel

from collectors.contract import TierName
from culprit.web.schemas import LocalizedText


class CollectionNeedsResponse(BaseModel):
    """Requirements of a collection method on a host."""

    tools: list[str]
    files: list[str]
    root: bool
    perf: bool
    target: bool
    remedy: str


class CollectionMethodResponse(BaseModel):
    """A collection method with its command line as displayed."""

    name: str
    command: str
    needs: CollectionNeedsResponse


class CollectorCostResponse(BaseModel):
    """The expected cost on a host."""

    cpu_pct: float
    bytes_per_s: float
    note: LocalizedText


class CollectorOptionResponse(BaseModel):
    """An option of a collector. The whole value must match `pattern`; a missing value means `default`.

    A `required` option has no default.
    """

    name: str
    pattern: str
    title: LocalizedText
    default: str
    required: bool


class CollectorResponse(BaseModel):
    """A collector. Those with `on_demand` are part of custom plans only."""

    id: str
    title: LocalizedText
    why: LocalizedText
    tier: TierName
    mandatory: bool
    exclusive: bool
    on_demand: bool
    options: list[CollectorOptionResponse]
    methods: list[CollectionMethodResponse]
    seconds_max: int
    max_bytes: int
    cost: CollectorCostResponse
    yields: list[str]
    parser_version: int


class TrackStyleResponse(BaseModel):
    """How a timeline shows a metric."""

    group: str
    group_title: LocalizedText
    order: int
    kind: str


class MetricResponse(BaseModel):
    """A metric."""

    id: str
    unit: str
    labels: list[str]
    axis: str | None
    title: LocalizedText
    meaning: LocalizedText
    track: TrackStyleResponse


class PlannedCollectorResponse(BaseModel):
    """A collector of a plan and its duration."""

    id: str
    seconds: int


class PlanResponse(BaseModel):
    """A named set of collectors."""

    id: str
    title: LocalizedText
    why: LocalizedText
    tier: TierName
    seconds: int
    total_seconds: int
    collectors: list[PlannedCollectorResponse]

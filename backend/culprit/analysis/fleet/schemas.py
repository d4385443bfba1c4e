"""Response bodies of the fleet endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from culprit.domain.rules.finding import Severity
from culprit.domain.rules.use_method import Resource, UseType
from culprit.web.schemas import LocalizedText

State = Literal["matched", "inconclusive", "not_matched"]
Strength = Literal["direct", "mechanism", "correlational", "context"]


class FleetRunResponse(BaseModel):
    """An evaluated run; `at` is the end of its measurement."""

    run_id: UUID
    plan: str
    at: datetime


class FleetRuleResponse(BaseModel):
    """The fields of a rule that display its findings; GET /rules has the others."""

    title: LocalizedText
    unit: str
    op: str
    strength: Strength
    resource: Resource | None
    use_category: UseType | None


class FleetFindingResponse(BaseModel):
    """The newest finding of one rule on a host. `run_index` is an index into the `runs` of the host."""

    rule: str
    state: State
    severity: Severity
    value: float | None
    threshold: float | None
    subject: dict[str, str]
    subjects: int
    run_index: int


class UseCellResponse(FleetFindingResponse):
    """The worst finding of a cell, and how many of its rules were evaluated and matched."""

    evaluated: int
    matched: int


class FleetHostResponse(BaseModel):
    """A host, its newest evaluated runs (the newest first), and the worst severity that matched."""

    id: UUID
    name: str
    labels: dict[str, str]
    state: Literal["active", "imported", "retired"]
    runs: list[FleetRunResponse]
    worst: Severity | None


class UseHostResponse(FleetHostResponse):
    """A row of the grid: `<resource>.<use_category>` → cell. Cells without an evaluated rule are missing."""

    cells: dict[str, UseCellResponse]


class FleetResponse(BaseModel):
    """The fields of every fleet response: its time, its rules, and how many hosts were left out."""

    at: datetime
    rules: dict[str, FleetRuleResponse]
    left_out: int


class UseGridResponse(FleetResponse):
    """The USE grid; `rules` are all rules with a USE category."""

    hosts: list[UseHostResponse]


class FindingsHostResponse(FleetHostResponse):
    """A row of the matrix: the matches, and the IDs of its other rules that were evaluated."""

    matched: list[FleetFindingResponse]
    inconclusive: list[str]
    not_matched: list[str]


class FindingsMatrixResponse(FleetResponse):
    """Host × rule, for every rule that matched on at least one host."""

    hosts: list[FindingsHostResponse]


class FleetLabelResponse(BaseModel):
    """A label by which hosts can be grouped, with the numbers of its hosts and of its values."""

    name: str
    host_count: int
    value_count: int


class PeerHostResponse(BaseModel):
    """The value of one host among its peers. `z` is its distance from the median, in steps."""

    host_id: UUID
    value: float
    z: float
    is_outlier: bool
    run_index: int


class PeerMeasureResponse(BaseModel):
    """One measure over a group, the strongest outlier first. `step` is one unit of z, in the unit of the measure."""

    measure: str
    rule: str
    title: LocalizedText
    unit: str
    host_count: int
    median: float
    step: float
    hosts: list[PeerHostResponse]


class PeerGroupResponse(BaseModel):
    """Hosts with the same value of a label. With fewer than five recent ones nothing is compared.

    `stale_hosts` counts hosts without a recent run. `measures` are those with an outlier, the strongest
    outlier first; `agreeing_measures` counts the others.
    """

    value: str
    hosts: list[FleetHostResponse]
    stale_hosts: int
    measures: list[PeerMeasureResponse]
    agreeing_measures: int


class PeersResponse(BaseModel):
    """The outliers. `label` groups the hosts; `unlabeled_hosts` counts the hosts without it."""

    at: datetime
    label: str
    labels: list[FleetLabelResponse]
    unlabeled_hosts: int
    left_out: int
    groups: list[PeerGroupResponse]

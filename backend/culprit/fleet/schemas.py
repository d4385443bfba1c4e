"""What comes out about the fleet."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from culprit.core.rules.contract import Severity
from culprit.core.rules.use import Letter, Resource

State = Literal["fired", "inconclusive", "quiet"]
Grade = Literal["direct", "mechanism", "correlational", "context"]


class TextRead(BaseModel):
    """A fixed text."""

    en: str
    zh: str


class FleetLookRead(BaseModel):
    """One evaluated run; `at` is when it measured last."""

    run_id: UUID
    plan: str
    at: datetime


class FleetRuleRead(BaseModel):
    """What is needed to show a word of a rule; the rest is in GET /rules."""

    title: TextRead
    unit: str
    op: str
    grade: Grade
    resource: Resource | None
    letter: Letter | None


class FleetWordRead(BaseModel):
    """What one rule last said of a host. `look` is a place in the host's `looks`."""

    rule: str
    state: State
    severity: Severity
    value: float | None
    threshold: float | None
    subject: dict[str, str]
    subjects: int
    look: int


class FleetCellRead(FleetWordRead):
    """The worst word of a cell, how many of the cell's rules spoke at all, and how many of them fired."""

    said: int
    fired: int


class FleetHostRead(BaseModel):
    """A host, its newest looks (the newest first), and the worst that fired."""

    id: UUID
    name: str
    labels: dict[str, str]
    state: Literal["active", "imported", "retired"]
    looks: list[FleetLookRead]
    worst: Severity | None


class UseHostRead(FleetHostRead):
    """A row of the grid: `<resource>.<letter>` → what is there. A cell that nobody looked at is not in it."""

    cells: dict[str, FleetCellRead]


class FleetRead(BaseModel):
    """What every view of the fleet says: when, which rules it speaks of, and how many hosts were left out."""

    at: datetime
    rules: dict[str, FleetRuleRead]
    left_out: int


class UseRead(FleetRead):
    """The USE grid; `rules` are all that have a place in it."""

    hosts: list[UseHostRead]


class FindingsHostRead(FleetHostRead):
    """A row of the matrix: what fired; which of the matrix's other rules were asked and quiet, or not sure."""

    fired: list[FleetWordRead]
    inconclusive: list[str]
    quiet: list[str]


class FindingsMatrixRead(FleetRead):
    """Host × rule, for every rule that fired somewhere."""

    hosts: list[FindingsHostRead]


class FleetLabelRead(BaseModel):
    """A label that groups can be made by: how many hosts carry it, and with how many values."""

    name: str
    hosts: int
    values: int


class FleetStandingRead(BaseModel):
    """One host among its peers."""

    host_id: UUID
    value: float
    z: float
    unlike: bool
    look: int


class PeerMeasureRead(BaseModel):
    """One number over a group, the most unusual host first. `step` is one of z, in the unit."""

    measure: str
    rule: str
    title: TextRead
    unit: str
    n: int
    median: float
    step: float
    standings: list[FleetStandingRead]


class PeerGroupRead(BaseModel):
    """Hosts with the same label. With fewer than five fresh ones nothing is compared.

    `measures` are those in which somebody is unlike the others, the most unusual first; `agree` counts the others.
    """

    value: str
    hosts: list[FleetHostRead]
    stale: int
    measures: list[PeerMeasureRead]
    agree: int


class PeersRead(BaseModel):
    """Who is unlike the others. `label` is the one that groups were made by; `without` counts hosts that lack it."""

    at: datetime
    label: str
    labels: list[FleetLabelRead]
    without: int
    left_out: int
    groups: list[PeerGroupRead]

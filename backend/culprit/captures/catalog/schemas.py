"""What is said about collectors, plans and metrics. Texts come in both languages."""

from __future__ import annotations

from pydantic import BaseModel


class TextRead(BaseModel):
    """A fixed text."""

    en: str
    zh: str


class NeedsRead(BaseModel):
    """What one way of collecting asks of a host."""

    tools: list[str]
    files: list[str]
    root: bool
    perf: bool
    target: bool
    mend: str


class WayRead(BaseModel):
    """One way of collecting, with the command line as it is shown."""

    name: str
    shows: str
    needs: NeedsRead


class CostRead(BaseModel):
    """Expected cost on a host."""

    cpu_pct: float
    bytes_per_s: float
    note: TextRead


class OptionRead(BaseModel):
    """A value that may be given to a collector: all of it must match `pattern`; without one `default` counts.

    Where it is `required` there is no default, and no capture without it.
    """

    name: str
    pattern: str
    title: TextRead
    default: str
    required: bool


class CollectorRead(BaseModel):
    """One collector. Those that are `on_demand` are part of no plan but one's own."""

    id: str
    title: TextRead
    why: TextRead
    tier: str
    mandatory: bool
    exclusive: bool
    on_demand: bool
    options: list[OptionRead]
    ways: list[WayRead]
    seconds_max: int
    max_bytes: int
    cost: CostRead
    yields: list[str]
    parser_version: int


class LaneRead(BaseModel):
    """How a timeline draws a metric."""

    group: str
    group_title: TextRead
    order: int
    kind: str


class MetricRead(BaseModel):
    """One metric."""

    id: str
    unit: str
    labels: list[str]
    axis: str | None
    title: TextRead
    meaning: TextRead
    lane: LaneRead


class PlannedRead(BaseModel):
    """One collector of a plan and how long it runs."""

    id: str
    seconds: int


class PlanRead(BaseModel):
    """A named set of collectors."""

    id: str
    title: TextRead
    why: TextRead
    tier: str
    seconds: int
    total_seconds: int
    collectors: list[PlannedRead]

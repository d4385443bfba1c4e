"""What goes in and out about profiles. Weights are in the profile's unit: samples, or nanoseconds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator

from culprit.core.stacks import Filter

Sentence = dict[str, Any]
MAX_CHOSEN = 500
Ns = Annotated[int, Field(ge=0, le=1 << 62)]
Number = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
Name = Annotated[str, Field(max_length=200)]


class FilterParams(BaseModel):
    """Which samples. Lists are "any of", fields join by "and"; `comm` is processes, `thread` threads."""

    model_config = ConfigDict(extra="forbid")

    from_ns: Ns | None = None
    to_ns: Ns | None = None
    cpu: Annotated[list[Number], Field(max_length=MAX_CHOSEN)] = []
    pid: Annotated[list[Number], Field(max_length=MAX_CHOSEN)] = []
    tid: Annotated[list[Number], Field(max_length=MAX_CHOSEN)] = []
    comm: Annotated[list[Name], Field(max_length=MAX_CHOSEN)] = []
    thread: Annotated[list[Name], Field(max_length=MAX_CHOSEN)] = []
    hide_idle: bool = False

    @field_validator("cpu", "pid", "tid", "comm", "thread", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        """A single value is a list of one; null is none; numbers may come separated by commas."""
        if value is None:
            return []
        items = list(value) if isinstance(value, list | tuple) else [value]
        return [part for item in items for part in _split(item)]

    def chosen(self) -> Filter:
        """The same for `culprit.core`."""
        return Filter(
            self.from_ns,
            self.to_ns,
            tuple(self.cpu),
            tuple(self.pid),
            tuple(self.tid),
            tuple(self.comm),
            tuple(self.thread),
            self.hide_idle,
        )

    @property
    def empty(self) -> bool:
        """Whether everything passes."""
        return self == FilterParams()


def _split(item: object) -> list[object]:
    if isinstance(item, str) and item and set(item) <= set("0123456789,-"):
        return [part for part in item.split(",") if part]
    return [item]


class HostRef(BaseModel):
    """A host by name."""

    id: UUID
    name: str


class ProfileRead(BaseModel):
    """A profile without its samples. `failure` is a sentence; the times are null where samples have none."""

    id: UUID
    run_id: UUID
    host: HostRef | None
    kind: str
    event: str
    unit: str
    state: str
    failure: Sentence | None
    samples: int | None
    weight: float | None
    lost: int | None
    unknown_share: float | None
    truncated_share: float | None
    t0_ns: int | None
    t1_ns: int | None
    way: str | None
    label: str
    created_at: datetime


class TreeNode(BaseModel):
    """One frame below its callers; value = self + values of children. Kind `pruned` stands for what is too
    narrow."""

    id: int
    name: str
    module: str = ""
    value: int
    self: int
    kind: str
    children: list[TreeNode]


class PathStep(BaseModel):
    """A frame between the root and the one that a tree begins with."""

    id: int
    name: str


class TreeRead(BaseModel):
    """A tree with the totals of the view that it was drawn from, and the frames that its root stands on."""

    total: int
    samples: int
    nodes_total: int
    pruned_weight: int
    path: list[PathStep]
    tree: TreeNode


class TableRow(BaseModel):
    """One function: `self` where it is innermost, `total` where it is anywhere on a stack."""

    frame: str
    module: str
    kind: str
    self: int
    total: int


class TableRead(BaseModel):
    """The heaviest functions."""

    rows: list[TableRow]
    total: int


class SearchRead(BaseModel):
    """What of a view runs through matching frames; each sample counts once."""

    weight: int
    share: float
    nodes: list[int]
    frames: list[str]


class HeatRead(BaseModel):
    """When samples fell: `rows[r][b]` is the weight at offset r of bin b."""

    t0_ns: int
    bin_ns: int
    rows: list[list[int]]


class FacetsRead(BaseModel):
    """What there is to filter by, heaviest first."""

    cpus: list[dict[str, int]]
    processes: list[dict[str, int | str]]
    threads: list[dict[str, int | str]]


class DiffSide(BaseModel):
    """One side of a comparison."""

    model_config = ConfigDict(extra="forbid")

    profile_id: UUID
    filter: FilterParams = FilterParams()


class DiffCreate(BaseModel):
    """What to compare: A is before, the baseline; B is after, and what is drawn is as wide as B."""

    model_config = ConfigDict(extra="forbid")

    a: DiffSide
    b: DiffSide
    normalise: bool | Literal["share", "absolute"] = True


class DiffSideRead(BaseModel):
    """One side, with what it is called; a profile that was deleted since has no label.

    `profiles`: how many are added up in it, of which `profile_id` is the first.
    """

    profile_id: UUID
    filter: dict[str, Any]
    label: str | None
    run_id: UUID | None
    profiles: int


class DiffRead(BaseModel):
    """A comparison without its tree. `by_base`: names are without the marks of a build."""

    id: UUID
    state: str
    a: DiffSideRead
    b: DiffSideRead
    normalise: str
    by_base: bool
    failure: Sentence | None
    created_at: datetime
    ended_at: datetime | None


class DiffTreeRead(BaseModel):
    """The tree of a comparison; nodes also hold a, b, delta (B - A), z and significant.

    `merged`: base name → the names of functions that are drawn under it.
    """

    total_a: int
    total_b: int
    samples_a: int
    samples_b: int
    normalise: str
    pruned_weight: int
    path: list[PathStep]
    vanished: list[dict[str, Any]]
    new: list[dict[str, Any]]
    merged: dict[str, list[str]]
    tree: dict[str, Any]


class SchedTask(BaseModel):
    """One thread: how long it ran and waited; null where it never waited."""

    task: str
    pid: int
    tid: int
    prio: int
    runtime_ms: float
    switches: int
    waits: int
    delay_sum_ms: float
    delay_avg_ms: float | None
    delay_p99_ms: float | None
    delay_max_ms: float | None
    delay_max_at_ns: int | None


class SchedRead(BaseModel):
    """The scheduler's events of a run. `checked_against` is perf's own count of the same file."""

    profile_id: UUID
    samples: int
    events: int
    lost: int
    lost_share: float
    inconsistent: int
    t0_ns: int
    t1_ns: int
    duration_ms: float
    tasks: list[SchedTask]
    tasks_total: int
    histogram: dict[str, list[int]]
    run_queue: dict[str, Any]
    checked_against: dict[str, Any] | None


class SchedLane(BaseModel):
    """One CPU; segments are [offset_ns, len_ns, index into tasks, slices drawn as one]."""

    cpu: int
    segments: list[list[int]]


class SchedLanesRead(BaseModel):
    """Who ran on each CPU in a range."""

    t0_ns: int
    t1_ns: int
    cpus: list[SchedLane]
    tasks: list[dict[str, int | str]]

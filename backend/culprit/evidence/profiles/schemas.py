"""Request and response schemas of profiles. Weights are in the profile's unit: samples, or nanoseconds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator

from collectors.profiles.samples import Unit
from culprit.domain.profiles.exploration.transforms import FrameTransform
from culprit.domain.profiles.patterns import MAX_PATTERN_CHARS
from culprit.domain.profiles.stacks import SampleFilter
from culprit.web.schemas import HostRef, MessageRef

MAX_FILTER_VALUES = 500
Ns = Annotated[int, Field(ge=0, le=1 << 62)]
Number = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
Name = Annotated[str, Field(max_length=200)]
FrameName = Annotated[str, Field(max_length=4096)]


class ProfileFilterParams(BaseModel):
    """A filter of samples. Values in a list combine with "or", fields with "and".

    `comm` are process names, `thread` thread names. `module` and `stack` (an RE2 pattern of a name) select a sample if
    at least one frame of its stack matches. `cgroup`: paths of control groups, including their descendants.
    `softirq_only`: samples during a softirq, in any thread.
    """

    model_config = ConfigDict(extra="forbid")

    from_ns: Ns | None = None
    to_ns: Ns | None = None
    cpu: Annotated[list[Number], Field(max_length=MAX_FILTER_VALUES)] = []
    pid: Annotated[list[Number], Field(max_length=MAX_FILTER_VALUES)] = []
    tid: Annotated[list[Number], Field(max_length=MAX_FILTER_VALUES)] = []
    comm: Annotated[list[Name], Field(max_length=MAX_FILTER_VALUES)] = []
    thread: Annotated[list[Name], Field(max_length=MAX_FILTER_VALUES)] = []
    hide_idle: bool = False
    module: Annotated[list[FrameName], Field(max_length=MAX_FILTER_VALUES)] = []
    stack: Annotated[str, Field(max_length=MAX_PATTERN_CHARS)] = ""
    cgroup: Annotated[list[FrameName], Field(max_length=MAX_FILTER_VALUES)] = []
    softirq_only: bool = False

    @field_validator("cpu", "pid", "tid", "comm", "thread", "module", "cgroup", mode="before")
    @classmethod
    def _wrap_single_value(cls, value: object) -> object:
        """Return a list: a single value becomes a list, null an empty list, and "1,2" is split at commas."""
        if value is None:
            return []
        items = list(value) if isinstance(value, list | tuple) else [value]
        return [part for item in items for part in _split(item)]

    def to_filter(self) -> SampleFilter:
        """Return the filter as a domain object."""
        return SampleFilter(
            self.from_ns,
            self.to_ns,
            tuple(self.cpu),
            tuple(self.pid),
            tuple(self.tid),
            tuple(self.comm),
            tuple(self.thread),
            self.hide_idle,
            tuple(self.module),
            self.stack,
            tuple(self.cgroup),
            self.softirq_only,
        )

    @property
    def empty(self) -> bool:
        """Return whether the filter selects all samples."""
        return self == ProfileFilterParams()


class ProfileViewParams(ProfileFilterParams):
    """A filter of samples, and a transform of their stacks (see `FrameTransform`). Frames are exact names."""

    group_unnamed: bool = False
    hide: Annotated[list[FrameName], Field(max_length=50)] = []
    focus: FrameName = ""
    fold: bool = False

    def to_transform(self) -> FrameTransform:
        """Return the transform as a domain object."""
        return FrameTransform(self.group_unnamed, tuple(self.hide), self.focus, self.fold)


def _split(item: object) -> list[object]:
    if isinstance(item, str) and item and set(item) <= set("0123456789,-"):
        return [part for part in item.split(",") if part]
    return [item]


class ProfileResponse(BaseModel):
    """A profile without its samples. `failure` is a message; `t0_ns` and `t1_ns` are null if samples have no times."""

    id: UUID
    run_id: UUID
    host: HostRef | None
    kind: str
    event: str
    unit: Unit
    state: Literal["queued", "running", "ready", "failed"]
    failure: MessageRef | None
    samples: int | None
    weight: float | None
    lost: int | None
    unknown_share: float | None
    truncated_share: float | None
    t0_ns: int | None
    t1_ns: int | None
    method: str | None
    label: str
    created_at: datetime


FrameKind = Literal["root", "comm", "user", "kernel", "jit", "inlined", "unknown", "pruned", "idle"]


class RenderedFrame(BaseModel):
    """One frame of a tree; value = self + values of children. Kind `pruned` replaces frames that are too narrow."""

    id: int
    name: str
    module: str = ""
    value: int
    self: int
    kind: FrameKind


class TreeNode(RenderedFrame):
    """A frame with the frames that it calls."""

    children: list[TreeNode]


class PathStep(BaseModel):
    """A frame on the path from the root of the profile to the first frame of a tree."""

    id: int
    name: str


class ProfileTreeResponse(BaseModel):
    """A tree, the totals of its view, and the path from the root of the profile to the tree."""

    total: int
    samples: int
    node_count: int
    pruned_weight: int
    path: list[PathStep]
    tree: TreeNode


class TimeOrderBox(RenderedFrame):
    """A frame in the order of time: it begins at weight `start`; times are those of its first and its last sample."""

    start: int
    first_ns: int
    last_ns: int
    children: list[TimeOrderBox]


class TimeOrderResponse(BaseModel):
    """The samples of one thread or CPU in the order of time. Unused fields are -1 or empty.

    Without samples, or if samples have no times, `tree` is null. Boxes of kind `pruned` cover neighbors that are
    narrower than half a pixel. It is the heaviest of `tracks_total` threads or CPUs in the selection.
    """

    by: Literal["thread", "cpu"]
    cpu: int
    pid: int
    tid: int
    comm: str
    tracks_total: int
    total: int
    samples: int
    pruned_weight: int
    tree: TimeOrderBox | None


class FunctionRowResponse(BaseModel):
    """One function: `self` is the weight of stacks with it innermost, `total` of all stacks that contain it."""

    frame: str
    module: str
    kind: str
    self: int
    total: int


class FunctionTableResponse(BaseModel):
    """The heaviest functions."""

    rows: list[FunctionRowResponse]
    total: int


class ProfileSearchResponse(BaseModel):
    """Frames that match a search, and the weight of the samples that contain them; each sample counts once."""

    weight: int
    share: float
    nodes: list[int]
    frames: list[str]


class HeatMatrixResponse(BaseModel):
    """Weights of samples over time: `rows[r][b]` is the weight at offset r in bin b."""

    t0_ns: int
    bin_ns: int
    rows: list[list[int]]


class CpuFacet(BaseModel):
    """A CPU and the weight of its samples."""

    cpu: int
    weight: int


class ProcessFacet(BaseModel):
    """A process and the weight of its samples."""

    pid: int
    comm: str
    weight: int


class ThreadFacet(BaseModel):
    """A thread under one of its names, and the weight of its samples."""

    tid: int
    pid: int
    comm: str
    weight: int


class ModuleFacet(BaseModel):
    """A file and the weight of the samples that have a frame in it."""

    module: str
    weight: int


class CgroupFacet(BaseModel):
    """A control group and the weight of the samples of its own processes, without groups below it."""

    cgroup: str
    weight: int


class ProfileFacetsResponse(BaseModel):
    """Available filter values, heaviest first. `softirq`: the weight of samples during a softirq."""

    cpus: list[CpuFacet]
    processes: list[ProcessFacet]
    threads: list[ThreadFacet]
    modules: list[ModuleFacet]
    cgroups: list[CgroupFacet]
    softirq: int


class SampleTrackResponse(BaseModel):
    """The samples of a thread, process or CPU. Unused fields are -1 or empty; `counts` are weights per bin."""

    cpu: int
    pid: int
    tid: int
    comm: str
    weight: int
    counts: list[int]


class SampleTracksResponse(BaseModel):
    """Samples over time by thread, process or CPU, heaviest first; bin b starts at t0_ns + b * bin_ns.

    `tracks_total` also counts the tracks over the limit, and `weight_total` contains them.
    """

    t0_ns: int
    bin_ns: int
    tracks: list[SampleTrackResponse]
    tracks_total: int
    weight_total: int


class UnnamedModuleResponse(BaseModel):
    """A module with unnamed frames; `weight` is that of stacks with such a frame innermost.

    `reason` is derived from the path of the module; `explanation` from the result of fetching its symbols, if any.
    """

    module: str
    reason: Literal["no_mapping", "kernel", "jit", "deleted", "vdso", "guest", "stripped"]
    weight: int
    frames: int
    explanation: MessageRef | None


class UnnamedModulesResponse(BaseModel):
    """Modules whose symbols are missing, heaviest first."""

    total: int
    modules: list[UnnamedModuleResponse]


class SandwichResponse(BaseModel):
    """A function with its callers and callees; both trees begin with it and weigh `total`."""

    function: str
    module: str
    kind: str
    self: int
    total: int
    view_total: int
    callers: TreeNode
    callees: TreeNode

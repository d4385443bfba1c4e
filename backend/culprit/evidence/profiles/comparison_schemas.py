"""What goes in and out about comparisons of profiles."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator

from culprit.domain.profiles.changes.judgement import Normalization
from culprit.domain.profiles.patterns import SearchPatternError, match_names
from culprit.evidence.profiles.schemas import FrameKind, PathStep, ProfileFilterParams, RenderedFrame
from culprit.web.schemas import MessageRef


class ComparisonSide(BaseModel):
    """One side of a comparison."""

    model_config = ConfigDict(extra="forbid")

    profile_id: UUID
    filter: ProfileFilterParams = ProfileFilterParams()

    @field_validator("filter")
    @classmethod
    def _require_pattern(cls, value: ProfileFilterParams) -> ProfileFilterParams:
        """Refuse what is no pattern when it arrives; the comparison is built later."""
        if value.stack:
            try:
                match_names([], value.stack, regex=True)
            except SearchPatternError as error:
                raise ValueError(f"not a pattern: {error.sentence.params.get('why', '')}") from error
        return value


class ComparisonCreate(BaseModel):
    """What to compare: A is before, the baseline; B is after.

    `by_base`: compare names without the marks of a build, and frames without a name by their module. By default
    unless both sides are parts of one profile.
    """

    model_config = ConfigDict(extra="forbid")

    a: ComparisonSide
    b: ComparisonSide
    by_base: bool | None = None


class ComparisonParams(BaseModel):
    """How to look at a comparison: what weights are divided by, and which side is A.

    `share`: samples; `cpu`: CPU seconds, that is samples of busy CPUs; `wall`: seconds of the recording; `work`: units
    of work, given as `work_a` and `work_b` for A and B as they were compared.
    """

    model_config = ConfigDict(extra="forbid")

    normalize: Normalization = "share"
    work_a: Annotated[float, Field(gt=0, le=1e15)] | None = None
    work_b: Annotated[float, Field(gt=0, le=1e15)] | None = None
    swap: bool = False


class ProfileFilterResponse(ProfileFilterParams):
    """The filter of a side, as it was requested."""


class ComparisonSideResponse(BaseModel):
    """One side, with what it is called; a profile that was deleted since has no label.

    `profiles`: how many are added up in it, of which `profile_id` is the first.
    """

    profile_id: UUID
    filter: ProfileFilterResponse
    label: str | None
    run_id: UUID | None
    profiles: int


class ComparisonResponse(BaseModel):
    """A comparison without its tree. `by_base`: names are without the marks of a build."""

    id: UUID
    state: Literal["queued", "running", "ready", "failed"]
    a: ComparisonSideResponse
    b: ComparisonSideResponse
    by_base: bool
    failure: MessageRef | None
    created_at: datetime
    ended_at: datetime | None


Verdict = Literal["changed", "noise", "few"]


class ComparisonTreeNode(RenderedFrame):
    """A frame of both sides: its weights, delta = B - A per exposure, and whether that is more than chance.

    `z` is the score, `p` its probability corrected for all tests, `noise` the least difference that would be marked;
    null where there are too few samples to test. `verdict` is null where frames were pruned.
    """

    a: int
    b: int
    delta: float
    z: float | None
    p: float | None
    noise: float | None
    verdict: Verdict | None
    children: list[ComparisonTreeNode]


class VanishedPath(BaseModel):
    """A path that only A has, at the frame where the sides part. `changed`: more than chance."""

    path: list[str]
    node: int
    a: int
    changed: bool


class NewPath(BaseModel):
    """A path that only B has, at the frame where the sides part. `changed`: more than chance."""

    path: list[str]
    node: int
    b: int
    changed: bool


class ComparisonHead(BaseModel):
    """What a comparison is about. Weights are divided by `exposure_a` and `exposure_b`.

    `seconds_a`, `seconds_b`: of the recordings, 0 without times. `bursts`: whether the variance between slices of
    time was measured, or is assumed for profiles without times. `tests`: how many differences were tested at once.
    """

    total_a: int
    total_b: int
    samples_a: int
    samples_b: int
    seconds_a: float
    seconds_b: float
    exposure_a: float
    exposure_b: float
    unit: Literal["samples", "ns"]
    normalize: Normalization
    normalizations: list[Normalization]
    swap: bool
    bursts: Literal["measured", "assumed"]
    tests: int


class ComparisonTreeResponse(ComparisonHead):
    """The tree of a comparison, as wide as one side, and the paths that only one side has.

    `merged`: base name → the names of functions that are drawn under it. `modules`: frames without a name that are
    compared by module → how many addresses they had.
    """

    width_of: Literal["a", "b"]
    pruned_weight: int
    path: list[PathStep]
    vanished: list[VanishedPath]
    new: list[NewPath]
    merged: dict[str, list[str]]
    modules: dict[str, int]
    tree: ComparisonTreeNode


class WeightChangeResponse(BaseModel):
    """The weights of a function on both sides, and what a frame of a comparison has."""

    a: int
    b: int
    delta: float
    p: float | None
    noise: float | None
    verdict: Verdict


class ComparedFunctionResponse(BaseModel):
    """One function: `self` where it is innermost, `total` where it is anywhere on a stack."""

    frame: str
    kind: FrameKind
    self: WeightChangeResponse
    total: WeightChangeResponse


class ComparedFunctionsResponse(ComparisonHead):
    """Functions: first those that changed by more than chance, then the others, by the size of the difference."""

    rows: list[ComparedFunctionResponse]


class ComparisonWorkResponse(BaseModel):
    """Requests that an application answered well during each side; null where its series do not cover both."""

    a: float | None
    b: float | None

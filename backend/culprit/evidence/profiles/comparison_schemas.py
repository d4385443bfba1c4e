"""Request and response schemas of profile comparisons."""

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
        """Raise ValueError for an invalid pattern at once, because the comparison is built later."""
        if value.stack:
            try:
                match_names([], value.stack, regex=True)
            except SearchPatternError as error:
                raise ValueError(f"not a pattern: {error.sentence.params.get('why', '')}") from error
        return value


class ComparisonCreate(BaseModel):
    """Two sides to compare: A is the baseline (before), B is after.

    `by_base`: compare names without the marks of a build, and frames without a name by their module. The default is
    true unless both sides are parts of one profile.
    """

    model_config = ConfigDict(extra="forbid")

    a: ComparisonSide
    b: ComparisonSide
    by_base: bool | None = None


class ComparisonParams(BaseModel):
    """Normalization of a comparison, and whether its sides are swapped.

    `normalize` selects the divisor of weights. `share`: samples; `cpu`: CPU seconds, that is samples of busy CPUs;
    `wall`: seconds of the recording; `work`: units of work, given as `work_a` and `work_b` for the sides before they
    are swapped.
    """

    model_config = ConfigDict(extra="forbid")

    normalize: Normalization = "share"
    work_a: Annotated[float, Field(gt=0, le=1e15)] | None = None
    work_b: Annotated[float, Field(gt=0, le=1e15)] | None = None
    swap: bool = False


class ProfileFilterResponse(ProfileFilterParams):
    """The filter of a side, as it was requested."""


class ComparisonSideResponse(BaseModel):
    """One side with its label; null if the profile was deleted since.

    `profiles` is the number of profiles that are added up in this side; `profile_id` is the first of them.
    """

    profile_id: UUID
    filter: ProfileFilterResponse
    label: str | None
    run_id: UUID | None
    profiles: int


class ComparisonResponse(BaseModel):
    """A comparison without its tree. `by_base`: names are compared without the marks of a build."""

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
    """A frame of both sides: its weights, delta = B - A per exposure, and the result of the significance test.

    `z` is the score, `p` its probability corrected for all tests, `noise` the smallest significant difference. They
    are null if there are too few samples to test. `verdict` is null for pruned frames.
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
    """A path that only A has, down to the first frame that B lacks. `changed`: statistically significant."""

    path: list[str]
    node: int
    a: int
    changed: bool


class NewPath(BaseModel):
    """A path that only B has, down to the first frame that A lacks. `changed`: statistically significant."""

    path: list[str]
    node: int
    b: int
    changed: bool


class ComparisonHead(BaseModel):
    """Totals and normalization of a comparison. Weights are divided by `exposure_a` and `exposure_b`.

    `seconds_a`, `seconds_b`: duration of the recordings, 0 without times. `bursts`: whether the variance between
    slices of time was measured, or is assumed for profiles without times. `tests`: number of differences that were
    tested at once.
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
    """The tree of a comparison with the widths of one side, and the paths that only one side has.

    `merged`: base name → full names of the functions that are displayed under it. `modules`: name of unnamed frames
    that are compared by module → the number of their addresses.
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
    """The weights of a function on both sides, with the test result as in `ComparisonTreeNode`."""

    a: int
    b: int
    delta: float
    p: float | None
    noise: float | None
    verdict: Verdict


class ComparedFunctionResponse(BaseModel):
    """One function: `self` is the weight of stacks with it innermost, `total` of all stacks that contain it."""

    frame: str
    kind: FrameKind
    self: WeightChangeResponse
    total: WeightChangeResponse


class ComparedFunctionsResponse(ComparisonHead):
    """Functions with a significant change, then the others, each by the size of the difference."""

    rows: list[ComparedFunctionResponse]


class ComparisonWorkResponse(BaseModel):
    """Number of successful requests during each side; null if the application series do not cover both."""

    a: float | None
    b: float | None

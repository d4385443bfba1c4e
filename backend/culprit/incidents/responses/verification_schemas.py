"""Schemas of the stored result of a verification."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from culprit.analysis.findings.schemas import CitationResponse
from culprit.web.schemas import Message

Better = Literal["lower", "higher"]


class VerificationPrimary(BaseModel):
    """The number that the comparison judges."""

    read: str
    unit: str
    better: Better
    subject: dict[str, str]


class VerificationLoad(BaseModel):
    """Mean load before and after the fix; null is not measured."""

    kind: str
    unit: str
    before: float | None
    after: float | None
    change: float | None


class VerificationWindow(BaseModel):
    """One capture on one side of the comparison."""

    side: Literal["before", "after", "control_before", "control_after"]
    run: str
    host: str
    load: float | None
    mean: float | None
    t_ns: list[int]
    values: list[float | None]
    citations: list[CitationResponse]
    missing: Message | None


class VerificationHost(BaseModel):
    """The change on one host, as a share. `left_out` is the reason why the host does not count."""

    host: str
    change: float | None
    outlier: bool
    left_out: Message | None


class FunctionChangeResponse(BaseModel):
    """Mean share of a function in the busy samples, 0 to 1. `sure`: its interval over hosts excludes zero."""

    name: str
    before: float
    after: float
    change: float
    low: float
    high: float
    sure: bool


class ProfileDifference(BaseModel):
    """How CPU profiles differ, if both sides have some.

    `mapping` lists the names that were merged under one base name; `mapped` counts all of them.
    """

    hosts: list[str]
    functions: list[FunctionChangeResponse]
    mapping: dict[str, list[str]]
    mapped: int
    comparison_id: str | None = None


class VerificationResult(BaseModel):
    """The outcome of a comparison of before and after. Changes are shares: -0.2 is 20 % less."""

    outcome: Literal["verified", "worse", "no_effect", "no_conclusion"]
    change: float | None
    low: float | None
    high: float | None
    p: float | None
    minimum_change: float
    confidence: float
    per_work: bool
    primary: VerificationPrimary
    load: VerificationLoad
    reasons: list[Message]
    windows: list[VerificationWindow]
    hosts: list[VerificationHost] = []
    differential: ProfileDifference | None = None

"""Response schemas of charts. Bodies are the values of `culprit.domain.charts`."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.domain.charts.bodies import ChartBody
from culprit.web.schemas import LocalizedText, MessageRef


class ChartResponse(BaseModel):
    """One chart. `body` is null without data; `reason` then has the cause.

    `rules` are the rules that it illustrates; `left_out` counts the items that were left out for size.
    """

    id: str
    builder: str
    title: LocalizedText
    summary: LocalizedText
    subject: dict[str, str]
    state: Literal["ok", "no_data"]
    reason: MessageRef | None
    body: Annotated[ChartBody, Field(discriminator="kind")] | None
    left_out: int
    notes: list[MessageRef]
    rules: list[str]
    collectors: list[str]


class RunChartsResponse(BaseModel):
    """The charts of one run."""

    run_id: UUID
    charts: list[ChartResponse]


class ChartTypeResponse(BaseModel):
    """One type of chart."""

    id: str
    title: LocalizedText
    summary: LocalizedText
    collectors: list[str]
    rules: list[str]

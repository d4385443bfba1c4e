"""What goes out about pictures. Bodies are the values of `culprit.core.visuals` as they are."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from culprit.core.visuals.bodies import Body

Sentence = dict[str, Any]


class TextRead(BaseModel):
    """A fixed text."""

    en: str
    zh: str


class VisualRead(BaseModel):
    """One picture. `body` is null where there is no data; `reason` then says why.

    `rules` are the findings that it illustrates, `left_out` counts what was not drawn because it was too much.
    """

    id: str
    builder: str
    title: TextRead
    says: TextRead
    subject: dict[str, str]
    state: Literal["ok", "no_data"]
    reason: Sentence | None
    body: Annotated[Body, Field(discriminator="kind")] | None
    left_out: int
    notes: list[Sentence]
    rules: list[str]
    collectors: list[str]


class RunVisualsRead(BaseModel):
    """The pictures of one run."""

    run_id: UUID
    visuals: list[VisualRead]


class BuilderRead(BaseModel):
    """One kind of picture."""

    id: str
    title: TextRead
    says: TextRead
    collectors: list[str]
    rules: list[str]

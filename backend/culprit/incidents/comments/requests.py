"""Request bodies of comments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from culprit.domain.text.mentions import MAX_LENGTH
from culprit.incidents.records.requests import StrictRequest

CommentTarget = Literal["incident", "step", "hypothesis", "pin"]
CommentText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_LENGTH, pattern=r"^[^\x00]+$")]


class CommentCreate(StrictRequest):
    """A comment in plain text. `about` and `ref`: the incident, a step or hypothesis by key, or a pin by ID."""

    text: CommentText
    about: CommentTarget = "incident"
    ref: Annotated[str, Field(max_length=210, pattern=r"^[a-z0-9/-]*$")] = ""


class CommentUpdate(StrictRequest):
    """The new text of a comment."""

    text: CommentText

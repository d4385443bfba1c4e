"""What comes in about comments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from culprit.core.comments import LONGEST
from culprit.incidents.given import Given

About = Literal["incident", "step", "hypothesis", "pin"]
Words = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=r"^[^\x00]+$")]


class CommentAdd(Given):
    """Plain text. `about` and `ref`: the incident, a step or a hypothesis by its key, or a pin by its id."""

    text: Words
    about: About = "incident"
    ref: Annotated[str, Field(max_length=210, pattern=r"^[a-z0-9/-]*$")] = ""


class CommentPatch(Given):
    """What it says now."""

    text: Words

"""The words that every part of a bundle is written in."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MANY = 20_000

Json = dict[str, Any]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Line = Annotated[str, StringConstraints(max_length=1000)]
Prose = Annotated[str, StringConstraints(max_length=100_000)]
Who = Annotated[str, StringConstraints(max_length=200)] | None
Count = Annotated[int, Field(ge=0, le=(1 << 62))]
Small = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]
Ns = Annotated[int, Field(ge=-(1 << 62), le=(1 << 62))] | None


class Carried(BaseModel):
    """What nobody knows here is refused: it could change the meaning of the rest."""

    model_config = ConfigDict(extra="forbid")


class Told(Carried):
    """A sentence by its key."""

    key: Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,200}$")]
    params: dict[str, Any] = {}

"""Shared types of the bundle format."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MAX_ITEMS = 20_000

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Line = Annotated[str, StringConstraints(max_length=1000)]
BundleText = Annotated[str, StringConstraints(max_length=100_000)]
PersonName = Annotated[str, StringConstraints(max_length=200)] | None
Count = Annotated[int, Field(ge=0, le=(1 << 62))]
Small = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]
Ns = Annotated[int, Field(ge=-(1 << 62), le=(1 << 62))] | None


class BundleModel(BaseModel):
    """Refuse unknown fields, because they can change the meaning of others."""

    model_config = ConfigDict(extra="forbid")


class BundleMessage(BundleModel):
    """A message by its key."""

    key: Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,200}$")]
    params: dict[str, Any] = {}

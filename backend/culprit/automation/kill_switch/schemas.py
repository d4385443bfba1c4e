"""What goes in and out about kill switches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints, model_validator

from culprit.auth.schemas import LabelName, LabelValue, Strict

Kind = Literal["everywhere", "label", "host"]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=300, strip_whitespace=True)]


class KillSwitchPull(Strict):
    """Where nothing shall start, and why. `cancel`: what runs or waits there is called off as well."""

    kind: Kind
    host_id: UUID | None = None
    label: Annotated[dict[LabelName, LabelValue] | None, Field(min_length=1, max_length=1)] = None
    reason: Reason = ""
    cancel: bool = True

    @model_validator(mode="after")
    def _fitting(self) -> KillSwitchPull:
        """A host for a host, a label for a label, nothing for everywhere."""
        if (self.host_id is not None) != (self.kind == "host") or (self.label is not None) != (
            self.kind == "label"
        ):
            raise ValueError("name a host for a host, a label for a label, and nothing for everywhere")
        return self


class KillSwitchNamed(BaseModel):
    """A host or a person by name."""

    id: UUID
    name: str


class KillSwitchRead(BaseModel):
    """A switch. It holds until `lifted_at`. `cancelled` counts the captures that pulling it called off."""

    id: UUID
    kind: Kind
    host: KillSwitchNamed | None
    label: dict[str, str] | None
    reason: str
    pulled_by: KillSwitchNamed | None
    created_at: datetime
    lifted_by: KillSwitchNamed | None
    lifted_at: datetime | None
    cancelled: int = 0

"""Requests and responses of kill switches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints, model_validator

from culprit.accounts.schemas import LabelName, LabelValue
from culprit.web.schemas import RequestModel

Kind = Literal["everywhere", "label", "host"]
Reason = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=300, strip_whitespace=True)]


class KillSwitchCreate(RequestModel):
    """Where to stop all starts, and why. `cancel` also cancels running and queued captures there."""

    kind: Kind
    host_id: UUID | None = None
    label: Annotated[dict[LabelName, LabelValue] | None, Field(min_length=1, max_length=1)] = None
    reason: Reason = ""
    cancel: bool = True

    @model_validator(mode="after")
    def _validate_target(self) -> KillSwitchCreate:
        """Require a host for the kind host, a label for the kind label, and none for everything."""
        if (self.host_id is not None) != (self.kind == "host") or (self.label is not None) != (
            self.kind == "label"
        ):
            raise ValueError("name a host for a host, a label for a label, and nothing for everywhere")
        return self


class KillSwitchRef(BaseModel):
    """A host or a user by name."""

    id: UUID
    name: str


class KillSwitchResponse(BaseModel):
    """A switch. It holds until `deactivated_at`. `canceled` counts the captures that its activation canceled."""

    id: UUID
    kind: Kind
    host: KillSwitchRef | None
    label: dict[str, str] | None
    reason: str
    activated_by: KillSwitchRef | None
    created_at: datetime
    deactivated_by: KillSwitchRef | None
    deactivated_at: datetime | None
    canceled: int = 0

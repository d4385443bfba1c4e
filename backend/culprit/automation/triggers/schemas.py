"""Requests and responses of triggers and alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from collectors.contract import TierName
from culprit.accounts.schemas import LabelName, LabelValue, Name
from culprit.domain.alerts.contract import Kind
from culprit.web.schemas import MessageRef, RequestModel

Proof = Literal["hmac", "token"]
AlertState = Literal["started", "joined", "deferred", "refused", "unmatched"]
#: Label names of other systems.
ForeignLabel = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,99}$")]
MAX_CHANNELS = 10


class TriggerOptions(RequestModel):
    """Configure the response to alerts.

    `host_labels` and `service_labels` name the labels with the target, most specific first; the default is
    the common names. `label_filter` ignores alerts with other values of these labels. Within `cooldown_s`, the same
    alert on the same host joins the previous response. `window_s` limits the difference between the time of a
    request and the current time. `peers` is the number of healthy peers that are captured too.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    seconds: Annotated[int, Field(ge=5, le=60)] = 8
    peers: Annotated[int, Field(ge=0, le=5)] = 2
    cooldown_s: Annotated[int, Field(ge=60, le=86_400)] = 1800
    window_s: Annotated[int, Field(ge=30, le=3600)] = 300
    severity: Annotated[int, Field(ge=1, le=4)] = 3
    host_labels: Annotated[list[ForeignLabel], Field(max_length=20)] = Field(default_factory=list)
    service_labels: Annotated[list[ForeignLabel], Field(max_length=20)] = Field(default_factory=list)
    label_filter: Annotated[
        dict[ForeignLabel, Annotated[list[LabelValue], Field(min_length=1, max_length=50)]],
        Field(max_length=20),
    ] = Field(default_factory=dict)


class TriggerCreate(RequestModel):
    """A trigger. Set `secret` if the sender chooses it (PagerDuty); otherwise it is generated and returned once."""

    name: Name
    kind: Kind
    proof: Proof = "token"
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None
    options: TriggerOptions = TriggerOptions()
    channel_ids: Annotated[list[UUID], Field(max_length=MAX_CHANNELS)] = Field(default_factory=list)
    enabled: bool = True


class TriggerUpdate(RequestModel):
    """A change; fields that are absent are kept. The user who changes a trigger becomes its owner."""

    name: Name | None = None
    options: TriggerOptions | None = None
    channel_ids: Annotated[list[UUID] | None, Field(max_length=MAX_CHANNELS)] = None
    enabled: bool | None = None
    new_secret: bool = False
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None


class NamedRef(BaseModel):
    """A user, host or channel by name."""

    id: UUID
    name: str


class TriggerResponse(BaseModel):
    """A trigger. `secret` is set only in the response that created it.

    `alert_count` counts accepted requests, `duplicate_count` repeated ones. `rejected_at` and `rejection_reason` are of
    the last rejected request. `alerts` counts the alerts of the last 24 hours by state.
    """

    id: UUID
    name: str
    kind: Kind
    proof: Proof
    path: str
    options: TriggerOptions
    channels: list[NamedRef]
    enabled: bool
    owner: NamedRef | None
    created_at: datetime
    last_alert_at: datetime | None
    alert_count: int
    duplicate_count: int
    rejected_at: datetime | None
    rejection_reason: MessageRef | None
    alerts: dict[str, int]
    secret: str | None = None


class TriggerTestRequest(RequestModel):
    """Labels of an alert to test."""

    title: Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=200)] = "test"
    labels: Annotated[
        dict[ForeignLabel, Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=500)]],
        Field(max_length=60),
    ] = Field(default_factory=dict)


class TriggerTestResponse(BaseModel):
    """The response that an alert would have now. Nothing was started."""

    state: AlertState
    reason: MessageRef | None
    host: NamedRef | None
    service: str
    peers: list[NamedRef]
    tiers: list[TierName]


class AlertResponse(BaseModel):
    """An alert, its number of repetitions, and the response to it."""

    id: UUID
    number: int
    trigger: NamedRef
    fingerprint: str
    cause: str
    title: str
    summary: str
    labels: dict[str, str]
    began_at: datetime | None
    state: AlertState
    reason: MessageRef | None
    count: int
    host: NamedRef | None
    service: str
    incident_id: UUID | None
    incident_number: int | None
    diagnosis_id: UUID | None
    peers: list[NamedRef]
    created_at: datetime
    last_at: datetime
    resolved_at: datetime | None


class AlertDeliveryResponse(BaseModel):
    """Answer to the sender: the number of alerts by result. `duplicate`: the request was processed before."""

    duplicate: bool = False
    alerts: int = 0
    started: int = 0
    joined: int = 0
    deferred: int = 0
    refused: int = 0
    unmatched: int = 0
    resolved: int = 0
    left_out: int = 0


class UnattendedTierCreate(RequestModel):
    """A label on whose hosts the standard tier may run unattended."""

    label: Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=1)]


class UnattendedTierResponse(BaseModel):
    """A label on whose hosts the standard tier may run unattended."""

    id: UUID
    label: dict[str, str]
    tier: TierName
    created_by: NamedRef | None
    created_at: datetime

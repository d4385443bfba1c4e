"""What goes in and out about triggers and alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints

from culprit.auth.schemas import LabelName, LabelValue, Name, Strict
from culprit.core.alerts.contract import Kind

Sentence = dict[str, Any]
Proof = Literal["hmac", "token"]
AlertState = Literal["fired", "joined", "held", "refused", "unmatched"]
#: Names of labels as others write them.
Foreign = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,99}$")]
MAX_CHANNELS = 10


class Options(Strict):
    """What is done about an alert.

    `host_labels` and `service_labels` name the labels that say where it is, the most definite first; without them the
    usual ones are tried. `only`: alerts with other values in these labels are left alone. `cooldown_s`: for so long the
    same alert on the same host joins what was started instead of starting more. `window_s`: how far the time of a
    request may be from ours. `peers` healthy hosts of the same kind are captured along.
    """

    seconds: Annotated[int, Field(ge=5, le=60)] = 8
    peers: Annotated[int, Field(ge=0, le=5)] = 2
    cooldown_s: Annotated[int, Field(ge=60, le=86_400)] = 1800
    window_s: Annotated[int, Field(ge=30, le=3600)] = 300
    severity: Annotated[int, Field(ge=1, le=4)] = 3
    host_labels: Annotated[list[Foreign], Field(max_length=20)] = Field(default_factory=list)
    service_labels: Annotated[list[Foreign], Field(max_length=20)] = Field(default_factory=list)
    only: Annotated[
        dict[Foreign, Annotated[list[LabelValue], Field(min_length=1, max_length=50)]],
        Field(max_length=20),
    ] = Field(default_factory=dict)


class TriggerCreate(Strict):
    """A trigger. `secret` is the sender's where that chooses it (PagerDuty); else one is made and told once."""

    name: Name
    kind: Kind
    proof: Proof = "token"
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None
    options: Options = Options()
    channel_ids: Annotated[list[UUID], Field(max_length=MAX_CHANNELS)] = Field(default_factory=list)
    enabled: bool = True


class TriggerUpdate(Strict):
    """What is not mentioned stays. Whoever changes a trigger owns it from then on."""

    name: Name | None = None
    options: Options | None = None
    channel_ids: Annotated[list[UUID] | None, Field(max_length=MAX_CHANNELS)] = None
    enabled: bool | None = None
    new_secret: bool = False
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None


class TriggerNamed(BaseModel):
    """A person, a host or a channel by name."""

    id: UUID
    name: str


class TriggerRead(BaseModel):
    """A trigger. `secret` is there once, in the answer that made it.

    `heard` counts requests that were taken, `repeated` those that had been taken before; `refused_at` and `refused_for`
    tell of the last one that was turned away. `alerts` counts alerts of the last 24 hours by what became of them.
    """

    id: UUID
    name: str
    kind: Kind
    proof: Proof
    path: str
    options: Options
    channels: list[TriggerNamed]
    enabled: bool
    owner: TriggerNamed | None
    created_at: datetime
    heard_at: datetime | None
    heard: int
    repeated: int
    refused_at: datetime | None
    refused_for: Sentence | None
    alerts: dict[str, int]
    secret: str | None = None


class TriggerTest(Strict):
    """Labels of an alert that might come."""

    title: Annotated[str, StringConstraints(pattern=r"^[^\x00]+$", max_length=200)] = "test"
    labels: Annotated[
        dict[Foreign, Annotated[str, StringConstraints(pattern=r"^[^\x00]*$", max_length=500)]],
        Field(max_length=60),
    ] = Field(default_factory=dict)


class TriggerTested(BaseModel):
    """What would become of it now. Nothing was started."""

    state: AlertState
    reason: Sentence | None
    host: TriggerNamed | None
    service: str
    peers: list[TriggerNamed]
    tiers: list[str]


class AlertRead(BaseModel):
    """An alert, how often it was sent, and what became of it."""

    id: UUID
    number: int
    trigger: TriggerNamed
    fingerprint: str
    cause: str
    title: str
    summary: str
    labels: dict[str, str]
    began_at: datetime | None
    state: AlertState
    reason: Sentence | None
    count: int
    host: TriggerNamed | None
    service: str
    incident_id: UUID | None
    incident_number: int | None
    diagnosis_id: UUID | None
    peers: list[TriggerNamed]
    created_at: datetime
    last_at: datetime
    resolved_at: datetime | None


class Received(BaseModel):
    """What a sender is told: how many alerts became what. `duplicate`: this very request had been taken before."""

    duplicate: bool = False
    alerts: int = 0
    fired: int = 0
    joined: int = 0
    held: int = 0
    refused: int = 0
    unmatched: int = 0
    resolved: int = 0
    left_out: int = 0


class AllowanceCreate(Strict):
    """On hosts with this label the standard tier may run without a person."""

    label: Annotated[dict[LabelName, LabelValue], Field(min_length=1, max_length=1)]


class AllowanceRead(BaseModel):
    """A label on whose hosts the standard tier may run without a person."""

    id: UUID
    label: dict[str, str]
    tier: str
    by: TriggerNamed | None
    created_at: datetime

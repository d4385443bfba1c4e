"""Requests and responses of channels and notifications."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from culprit.accounts.schemas import Locale, Name
from culprit.json_types import Json
from culprit.web.schemas import DocumentedAs, MessageRef, RequestModel

ChannelKind = Literal["webhook", "slack", "email", "grafana"]
NotificationState = Literal["queued", "sent", "failed"]
AnnotationState = Literal["queued", "sent", "failed", "deleted"]
Port = Annotated[int, Field(ge=1, le=65535)]
Url = Annotated[SecretStr, Field(min_length=8, max_length=1000)]
HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
Mailbox = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$", max_length=250
    ),
]


class MailTo(RequestModel):
    """A mail server and its recipients. Without TLS, a password is sent only over loopback."""

    host: HostName
    port: Port = 587
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=250)] = ""
    password: Annotated[SecretStr, Field(max_length=500)] = SecretStr("")
    sender: Mailbox
    to: Annotated[list[Mailbox], Field(min_length=1, max_length=20)]


class ChannelCreate(RequestModel):
    """A channel. `url` of a webhook or Slack-compatible service is a secret; `secret` signs webhook requests.

    Grafana receives annotations instead of messages: `url` is its address, `secret` the token of a service
    account. `user_id` makes it the personal channel of a user, for mentions. `chart_link` shows the chart in
    a Slack-compatible service by a link that needs no account, for 30 days.
    """

    name: Name
    kind: ChannelKind
    locale: Locale = "en"
    enabled: bool = True
    url: Url | None = None
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None
    mail: MailTo | None = None
    chart_link: bool = True
    user_id: UUID | None = None

    @model_validator(mode="after")
    def _validate_destination(self) -> ChannelCreate:
        """Require a URL for a webhook and a server for email."""
        if (self.kind == "email") != (self.mail is not None) or (self.kind == "email") == (
            self.url is not None
        ):
            raise ValueError("e-mail needs a server and nothing else; webhooks and Slack need a URL")
        if self.secret is not None and self.kind not in {"webhook", "grafana"}:
            raise ValueError("only a webhook is signed")
        if self.kind == "grafana" and (self.secret is None or self.user_id is not None):
            raise ValueError("Grafana needs the token of a service account and cannot belong to a user")
        return self


class ChannelUpdate(RequestModel):
    """A change; absent fields are kept. To change the address, create another channel."""

    name: Name | None = None
    locale: Locale | None = None
    enabled: bool | None = None


class PublicDestination(BaseModel):
    """The parts of a destination that are no secret: the server, or the mail addresses."""

    model_config = ConfigDict(extra="allow")

    server: str | None = None
    to: list[str] | None = None


class ChannelResponse(BaseModel):
    """A channel. `destination` is the part of its address that users may see.

    `secret` is set only in the response that created it. `queued` and `failed` count its messages, or the annotations
    of a Grafana; `last_state` and `last_at` are of the newest message.
    """

    id: UUID
    name: str
    kind: ChannelKind
    locale: Locale
    enabled: bool
    user_id: UUID | None
    destination: Annotated[Json, DocumentedAs(PublicDestination)]
    created_at: datetime
    queued: int
    failed: int
    last_state: NotificationState | None
    last_at: datetime | None
    secret: str | None = None


class NotificationMessage(BaseModel):
    """The text of a notification, and the pages that it links to."""

    model_config = ConfigDict(extra="allow")

    headline: str
    lines: list[str]
    paths: dict[str, str]


class NotificationResponse(BaseModel):
    """A notification, its number of attempts, and the reason of a failure."""

    id: UUID
    number: int
    channel_id: UUID
    channel: str
    about: Literal["diagnosis", "mention", "test"]
    message: Annotated[Json, DocumentedAs(NotificationMessage)]
    state: NotificationState
    attempts: int
    not_before: datetime
    failure: MessageRef | None
    created_at: datetime
    sent_at: datetime | None


class GrafanaAnnotationResponse(BaseModel):
    """An annotation in a Grafana, and the state of its delivery.

    `about_id` is the ID of the capture, of the event, or of the incident with the cause or fix. `is_deleted`:
    it is to be removed there. `text` is empty for users who do not see all hosts.
    """

    id: UUID
    channel_id: UUID
    channel: str
    about: Literal["capture", "incident", "cause", "fix", "event"]
    about_id: UUID
    text: str
    is_deleted: bool
    state: AnnotationState
    attempts: int
    not_before: datetime
    failure: MessageRef | None
    created_at: datetime
    sent_at: datetime | None

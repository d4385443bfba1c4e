"""What goes in and out about channels and messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints, model_validator

from culprit.auth.schemas import Locale, Name, Strict

Sentence = dict[str, Any]
ChannelKind = Literal["webhook", "slack", "email", "grafana"]
NoticeState = Literal["queued", "sent", "dead"]
AnnotationState = Literal["queued", "sent", "dead", "gone"]
Port = Annotated[int, Field(ge=1, le=65535)]
Url = Annotated[SecretStr, Field(min_length=8, max_length=1000)]
HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
Mailbox = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$", max_length=250
    ),
]


class MailTo(Strict):
    """A mail server and who gets the mail. Without TLS a password is only sent over loopback."""

    host: HostName
    port: Port = 587
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=250)] = ""
    password: Annotated[SecretStr, Field(max_length=500)] = SecretStr("")
    sender: Mailbox
    to: Annotated[list[Mailbox], Field(min_length=1, max_length=20)]


class ChannelCreate(Strict):
    """A channel. `url` of a webhook or of a Slack-compatible place is a secret; `secret` signs what a webhook is sent.

    Grafana is told by annotations and not by messages: `url` is its address, `secret` the token of a service account.
    `user_id`: it reaches this person when a comment names them.
    `picture_link`: a Slack-compatible place shows the picture by a link that needs no account, for 30 days.
    """

    name: Name
    kind: ChannelKind
    locale: Locale = "en"
    enabled: bool = True
    url: Url | None = None
    secret: Annotated[SecretStr, Field(min_length=16, max_length=500)] | None = None
    mail: MailTo | None = None
    picture_link: bool = True
    user_id: UUID | None = None

    @model_validator(mode="after")
    def _fitting(self) -> ChannelCreate:
        """A webhook has a URL, e-mail has a server."""
        if (self.kind == "email") != (self.mail is not None) or (self.kind == "email") == (
            self.url is not None
        ):
            raise ValueError("e-mail needs a server and nothing else; webhooks and Slack need a URL")
        if self.secret is not None and self.kind not in {"webhook", "grafana"}:
            raise ValueError("only a webhook is signed")
        if self.kind == "grafana" and (self.secret is None or self.user_id is not None):
            raise ValueError("Grafana needs the token of a service account, and is nobody's")
        return self


class ChannelUpdate(Strict):
    """What is not mentioned stays; where it leads is changed by making another."""

    name: Name | None = None
    locale: Locale | None = None
    enabled: bool | None = None


class ChannelRead(BaseModel):
    """A channel. `shown` is what may be seen of where it leads. `secret` is there once, in the answer that made it.

    `queued` and `dead` count its messages, of a Grafana its annotations; `last` tells of the newest.
    """

    id: UUID
    name: str
    kind: ChannelKind
    locale: Locale
    enabled: bool
    user_id: UUID | None
    shown: dict[str, Any]
    created_at: datetime
    queued: int
    dead: int
    last_state: NoticeState | None
    last_at: datetime | None
    secret: str | None = None


class NoticeRead(BaseModel):
    """A message: what it tells, how often it was tried, and why it did not arrive where it did not."""

    id: UUID
    number: int
    channel_id: UUID
    channel: str
    about: Literal["firing", "mention", "test"]
    message: dict[str, Any]
    state: NoticeState
    tries: int
    not_before: datetime
    failure: Sentence | None
    created_at: datetime
    sent_at: datetime | None


class GrafanaAnnotationRead(BaseModel):
    """An annotation in a Grafana, or on its way there, and how that went.

    `about_id` is of the capture, of the event, or of the incident that a cause or a fix is of.

    `removed`: it is to disappear there. `text` is empty for who sees only some hosts.
    """

    id: UUID
    channel_id: UUID
    channel: str
    about: Literal["capture", "incident", "cause", "fix", "event"]
    about_id: UUID
    text: str
    removed: bool
    state: AnnotationState
    tries: int
    not_before: datetime
    failure: Sentence | None
    created_at: datetime
    sent_at: datetime | None

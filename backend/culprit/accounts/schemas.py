"""What goes in and out about people: sessions, accounts, tokens, the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from culprit.auth.tokens import MAX_PASSWORD

Role = Literal["viewer", "investigator", "oncall", "admin"]
Locale = Literal["en", "zh"]
TokenPurpose = Literal["events"]
Name = Annotated[str, StringConstraints(pattern=r"^[^\W_][\w.@+ -]{0,63}$", strip_whitespace=True)]
Password = Annotated[SecretStr, Field(min_length=10, max_length=MAX_PASSWORD)]
LabelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")]
LabelValue = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,120}$")]
LabelScope = Annotated[
    dict[LabelName, Annotated[list[LabelValue], Field(min_length=1, max_length=50)]], Field(max_length=20)
]


MOST_UNKNOWN_FIELDS = 20


class Strict(BaseModel):
    """A request body: a misspelt field is an error and not silently nothing."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _bound_unknown_fields(cls, value: object) -> object:
        """Refuse many unknown fields with one error instead of one for each."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + MOST_UNKNOWN_FIELDS:
            raise PydanticCustomError(
                "too_many_fields", "This request has at most {most} fields.", {"most": len(cls.model_fields)}
            )
        return value


class Login(Strict):
    """Name and password."""

    name: Annotated[str, Field(max_length=200)]
    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)]


class LinkLogin(Strict):
    """The token of a one-time login link."""

    token: Annotated[SecretStr, Field(max_length=200)]


class ProofRequest(Strict):
    """The password of the account that is logged in."""

    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)]


class Me(BaseModel):
    """The one who is logged in. `csrf` is null for tokens; `this_host` is the machine that `up` enrolled."""

    id: UUID
    name: str
    role: Role
    locale: Locale
    label_scope: dict[str, list[str]]
    csrf: str | None
    may: list[str]
    version: str
    needs_password: bool
    signs_in_elsewhere: bool
    this_host: UUID | None


class MeUpdate(Strict):
    """A new password needs the current one where there is one."""

    locale: Locale | None = None
    password: Password | None = None
    current_password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)] | None = None


class UserRead(BaseModel):
    """An account. `login_link` is there once, in the answer that made it."""

    id: UUID
    name: str
    role: Role
    label_scope: dict[str, list[str]]
    locale: Locale
    has_password: bool
    signs_in_elsewhere: bool
    disabled_at: datetime | None
    created_at: datetime
    login_link: str | None = None


class UserCreate(Strict):
    """A new account; without a password the answer holds a login link."""

    name: Name
    role: Role
    label_scope: LabelScope = {}
    locale: Locale = "en"
    password: Password | None = None


class UserUpdate(Strict):
    """`new_login_link` takes the password away, ends all sessions, and answers with a link."""

    role: Role | None = None
    label_scope: LabelScope | None = None
    disabled: bool | None = None
    new_login_link: bool = False


class TokenRead(BaseModel):
    """An API token; its text is shown once, in `token` of the answer that made it."""

    id: UUID
    name: str
    prefix: str
    role: Role
    purpose: TokenPurpose | None
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    token: str | None = None


class TokenCreate(Strict):
    """A token may at most what its owner may; `role` narrows it further.

    One for the purpose `events` may tell events and nothing else, as a pipeline needs it.
    """

    name: Name
    role: Role | None = None
    purpose: TokenPurpose | None = None
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = 90


class AuditRead(BaseModel):
    """One act."""

    id: UUID
    seq: int
    at: datetime
    actor_id: UUID | None
    actor_name: str
    action: str
    resource_kind: str
    resource_id: str
    detail: dict[str, Any]
    address: str | None
    hash: str


class AuditChain(BaseModel):
    """The state of the whole chain; `broken_at` is the first entry that does not follow."""

    entries: int
    head: str
    broken_at: int | None


class AuditPage(BaseModel):
    """One page of the log and its newest hash, to be kept elsewhere."""

    items: list[AuditRead]
    next: str | None
    head: str

"""Requests and responses of sessions, accounts, tokens and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints

from culprit.accounts.tokens import MAX_PASSWORD
from culprit.web.schemas import RequestModel

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


class LoginRequest(RequestModel):
    """Name and password."""

    name: Annotated[str, Field(max_length=200)]
    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)]


class LinkLoginRequest(RequestModel):
    """The token of a one-time login link."""

    token: Annotated[SecretStr, Field(max_length=200)]


class ProofRequest(RequestModel):
    """The password of the logged-in account."""

    password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)]


class MeResponse(BaseModel):
    """The logged-in account. `csrf` is null for tokens; `this_host` is the host that `up` added."""

    id: UUID
    name: str
    role: Role
    locale: Locale
    label_scope: dict[str, list[str]]
    csrf: str | None
    permissions: list[str]
    version: str
    needs_password: bool
    uses_single_sign_on: bool
    this_host: UUID | None


class MeUpdate(RequestModel):
    """A password change; the current password is required if there is one."""

    locale: Locale | None = None
    password: Password | None = None
    current_password: Annotated[SecretStr, Field(max_length=MAX_PASSWORD)] | None = None


class UserResponse(BaseModel):
    """An account. Only the response that creates `login_link` contains it."""

    id: UUID
    name: str
    role: Role
    label_scope: dict[str, list[str]]
    locale: Locale
    has_password: bool
    uses_single_sign_on: bool
    disabled_at: datetime | None
    created_at: datetime
    login_link: str | None = None


class UserCreate(RequestModel):
    """A new account; without a password, the response contains a login link."""

    name: Name
    role: Role
    label_scope: LabelScope = Field(default_factory=dict)
    locale: Locale = "en"
    password: Password | None = None


class UserUpdate(RequestModel):
    """A change. `new_login_link` removes the password, ends all sessions, and returns a link."""

    role: Role | None = None
    label_scope: LabelScope | None = None
    disabled: bool | None = None
    new_login_link: bool = False


class TokenResponse(BaseModel):
    """An API token; only the response that creates it contains `token`."""

    id: UUID
    name: str
    prefix: str
    role: Role
    purpose: TokenPurpose | None
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    token: str | None = None


class TokenCreate(RequestModel):
    """A new token. Its permissions are limited to those of its owner; `role` limits them further.

    With the purpose `events`, it can only report events, which is what a pipeline needs.
    """

    name: Name
    role: Role | None = None
    purpose: TokenPurpose | None = None
    expires_in_days: Annotated[int, Field(ge=1, le=3650)] | None = 90


class AuditEntryResponse(BaseModel):
    """One action."""

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


class AuditChainResponse(BaseModel):
    """State of the whole chain; `broken_at` is the first entry that does not match."""

    entries: int
    head: str
    broken_at: int | None


class AuditPageResponse(BaseModel):
    """One page of the log and its newest hash, which can be stored elsewhere."""

    items: list[AuditEntryResponse]
    next: str | None
    head: str

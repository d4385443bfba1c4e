"""Requests and responses of single sign-on."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints

from culprit.accounts.schemas import Name, Role
from culprit.accounts.single_sign_on.roles import MAX_GROUP, MAX_NEXT
from culprit.web.schemas import MessageRef, RequestModel

Claim = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_:./-]{1,120}$")]
Scope = Annotated[str, StringConstraints(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,120}$")]
Group = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", min_length=1, max_length=MAX_GROUP)]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=8, max_length=500)]
ClientId = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,300}$")]


class GroupRole(RequestModel):
    """Members of this group have this role."""

    group: Group
    role: Role


class ProviderUpdate(RequestModel):
    """The identity provider. `client_secret`: null keeps the current one; `public` means that there is none.

    `default_role` is the role of users without a mapped group; null refuses them. `version` is that of the
    settings read before, 0 if there were none.
    """

    name: Name
    issuer: Url
    client_id: ClientId
    client_secret: Annotated[SecretStr, Field(min_length=1, max_length=1000)] | None = None
    public: bool = False
    scopes: Annotated[list[Scope], Field(max_length=20)] = Field(default_factory=lambda: ["profile", "email"])
    groups_claim: Claim = "groups"
    name_claim: Claim = "preferred_username"
    roles: Annotated[list[GroupRole], Field(max_length=200)] = Field(default_factory=list)
    default_role: Role | None = None
    session_hours: Annotated[int, Field(ge=1, le=168)] = 12
    enabled: bool = True
    version: Annotated[int, Field(ge=0)] = 0


class ProviderResponse(BaseModel):
    """The settings without the secret. `redirect_uri` must be registered at the provider.

    `people` counts the accounts that use it.
    """

    id: UUID
    name: str
    issuer: str
    client_id: str
    has_secret: bool
    scopes: list[str]
    groups_claim: str
    name_claim: str
    roles: list[GroupRole]
    default_role: Role | None
    session_hours: int
    enabled: bool
    version: int
    updated_at: datetime
    redirect_uri: str
    people: int


class ProviderStateResponse(BaseModel):
    """The provider, or null if none is configured; `redirect_uri` is known before."""

    provider: ProviderResponse | None
    redirect_uri: str


class ProviderCheckResponse(BaseModel):
    """The provider's current metadata, or the message why it cannot be used."""

    ok: bool
    failure: MessageRef | None
    detail: str
    algorithms: list[str]
    keys: int
    end_session: bool


class SignInMethodsResponse(BaseModel):
    """Sign-in methods for the login page: the name of the provider, or null."""

    provider: str | None


class SignInRequest(RequestModel):
    """`next` is the target after sign-in; targets outside this server are ignored."""

    next: Annotated[str, Field(max_length=MAX_NEXT)] = "/"


class SignInResponse(BaseModel):
    """Where to redirect the browser."""

    url: str


class SignOutResponse(BaseModel):
    """Where to redirect the browser after logout, or null."""

    url: str | None

"""What goes in and out about signing in elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field, SecretStr, StringConstraints

from culprit.auth.schemas import Name, Role, Strict
from culprit.signon.roles import LONGEST_GROUP, LONGEST_NEXT

Claim = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_:./-]{1,120}$")]
Scope = Annotated[str, StringConstraints(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,120}$")]
Group = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", min_length=1, max_length=LONGEST_GROUP)
]
Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=8, max_length=500)]
ClientId = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,300}$")]


class GroupRole(Strict):
    """Who is in this group has this role."""

    group: Group
    role: Role


class ProviderIn(Strict):
    """The identity provider. `client_secret`: null keeps the one there is; `public` says that there is none.

    `otherwise` is the role of people without a fitting group; null refuses them. `version` is that of the settings
    which were read before, 0 where there were none.
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
    otherwise: Role | None = None
    session_hours: Annotated[int, Field(ge=1, le=168)] = 12
    enabled: bool = True
    version: Annotated[int, Field(ge=0)] = 0


class ProviderRead(BaseModel):
    """The settings without the secret. `redirect_uri` is what has to be registered at the provider.

    `people` counts the accounts that came from it.
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
    otherwise: Role | None
    session_hours: int
    enabled: bool
    version: int
    updated_at: datetime
    redirect_uri: str
    people: int


class ProviderState(BaseModel):
    """`provider` is null where nothing is set up; `redirect_uri` is known before."""

    provider: ProviderRead | None
    redirect_uri: str


class ProviderChecked(BaseModel):
    """What the provider says about itself now, or the sentence that tells why nothing usable came back."""

    ok: bool
    failure: dict[str, Any] | None
    detail: str
    algorithms: list[str]
    keys: int
    end_session: bool


class SignInWays(BaseModel):
    """How people may sign in, for the login page: the name of the provider, or null."""

    provider: str | None


class SignInStart(Strict):
    """`next` is where to go afterwards; what does not lead to a page of this server is not followed."""

    next: Annotated[str, Field(max_length=LONGEST_NEXT)] = "/"


class SignInPlace(BaseModel):
    """Where the browser goes now."""

    url: str


class SignOutPlace(BaseModel):
    """Where the browser goes after logging out here; null: nowhere else."""

    url: str | None

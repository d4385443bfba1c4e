"""Who acts: an account, seen through the session or token that it came with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.models import UserAccount
from culprit.models.user_account import ROLES


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or their token, with what `policy` needs to know.

    `label_scope` maps label names to allowed values; empty is all hosts. `address` is where a request came
    from, for the audit log; None inside tasks. `only` are the actions of a token that was made for one purpose;
    None is all that the role allows. `proved_at` is when the session last proved who is there; None without a session.
    """

    id: UUID
    name: str
    role: str
    label_scope: Mapping[str, Sequence[str]] = field(default_factory=dict)
    locale: str = "en"
    address: str | None = None
    token_id: UUID | None = None
    session_id: UUID | None = None
    csrf: str | None = None
    only: frozenset[str] | None = None
    proved_at: datetime | None = None

    @property
    def unrestricted(self) -> bool:
        """Whether all hosts are in scope."""
        return not self.label_scope


def rank(role: str) -> int:
    """Roles in their order; each may what the lower ones may."""
    return ROLES.index(role)


def lower(one: str, other: str) -> str:
    """The role of the two that may less."""
    return min(one, other, key=rank)


def role_within(role: str, label_scope: Mapping[str, Sequence[str]]) -> str:
    """Return the role that an account with this label scope can have: no admin has one, as admins reach every host."""
    return lower(role, "oncall") if label_scope else role


def actor_of(user: UserAccount) -> Actor:
    """An account as an actor with all that it may."""
    return Actor(user.id, user.name, user.role, user.label_scope, user.locale)


def actor_by_id(session: Session, user_id: UUID | None) -> Actor | None:
    """The actor as the account is now, for tasks; None where it is gone or disabled."""
    user = session.get(UserAccount, user_id) if user_id else None
    return actor_of(user) if user and user.disabled_at is None else None

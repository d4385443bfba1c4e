"""The actor of a request: an account, as seen through its session or token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.infra.models.accounts.user_account import ROLES, UserAccount


@dataclass(frozen=True, slots=True)
class Actor:
    """An account or its token, with the data that authorization needs.

    `label_scope` maps label names to allowed values; empty is all hosts. `address` is the client address for
    the audit log; None in jobs. `only` are the actions of a token with a purpose; None means all actions of
    the role. `proved_at` is the time of the session's last reauthentication; None without a session.
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
        """Return whether all hosts are in scope."""
        return not self.label_scope


def rank_role(role: str) -> int:
    """Return the rank of a role; each role includes the permissions of lower ones."""
    return ROLES.index(role)


def lower_role(item: str, other: str) -> str:
    """Return the lower of two roles."""
    return min(item, other, key=rank_role)


def limit_role(role: str, label_scope: Mapping[str, Sequence[str]]) -> str:
    """Return the role that an account with this label scope can have: never admin, as admins reach every host."""
    return lower_role(role, "oncall") if label_scope else role


def build_actor(user: UserAccount) -> Actor:
    """Return the actor of an account with all its permissions."""
    return Actor(user.id, user.name, user.role, user.label_scope, user.locale)


def find_actor(session: Session, user_id: UUID | None) -> Actor | None:
    """Return the actor of the account as it is now, or None if it is missing or disabled."""
    user = session.get(UserAccount, user_id) if user_id else None
    return build_actor(user) if user and user.disabled_at is None else None

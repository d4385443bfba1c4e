"""SELECTs of single sign-on."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity


def find_provider(session: Session, *, lock: bool = False) -> OidcProvider | None:
    """Return the provider, or None."""
    query = select(OidcProvider)
    return session.scalars(query.with_for_update() if lock else query).first()


def select_linked_ids() -> Select[UUID]:
    """Return the SELECT of the IDs of all accounts with single sign-on."""
    return select(UserIdentity.user_id)


def lock_identity(session: Session, issuer: str, subject: str) -> UserIdentity | None:
    """Return the identity of a subject, locked, because a sign-in changes it."""
    query = select(UserIdentity).where(UserIdentity.issuer == issuer, UserIdentity.subject == subject)
    return session.scalars(query.with_for_update()).first()


def is_name_taken(session: Session, name: str) -> bool:
    """Return whether an account has this name, ignoring case."""
    return (
        session.scalars(select(UserAccount.id).where(UserAccount.name.ilike(_escape_like(name)))).first()
        is not None
    )


def has_local_admin(session: Session, but: UUID | None = None) -> bool:
    """Return whether an admin can log in without the provider."""
    query = select(UserAccount.id).where(
        UserAccount.role == "admin",
        UserAccount.disabled_at.is_(None),
        UserAccount.password_hash.is_not(None),
        UserAccount.id.not_in(select_linked_ids()),
    )
    if but is not None:
        query = query.where(UserAccount.id != but)
    return session.scalars(query.limit(1)).first() is not None


def count_linked_users(session: Session) -> int:
    """Return the number of accounts with single sign-on."""
    return len(session.scalars(select(UserIdentity.id)).all())


def _escape_like(text: str) -> str:
    """Escape a text for LIKE, so that it matches only itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

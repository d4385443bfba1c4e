"""Every SELECT about signing in elsewhere."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.addresses import Rule
from culprit.models import NetworkRule, OidcProvider, UserAccount, UserIdentity


def provider(session: Session, *, lock: bool = False) -> OidcProvider | None:
    """The one there is."""
    query = select(OidcProvider)
    return session.scalars(query.with_for_update() if lock else query).first()


def rules(session: Session) -> tuple[Rule, ...]:
    """What may be dialled."""
    return tuple(
        Rule(str(row.cidr), row.port_from, row.port_to) for row in session.scalars(select(NetworkRule))
    )


def identity(session: Session, issuer: str, subject: str) -> UserIdentity | None:
    """Who that is here; locked, because a sign-in changes it."""
    query = select(UserIdentity).where(UserIdentity.issuer == issuer, UserIdentity.subject == subject)
    return session.scalars(query.with_for_update()).first()


def name_taken(session: Session, name: str) -> bool:
    """Whether an account has this name, in whatever case."""
    return (
        session.scalars(select(UserAccount.id).where(UserAccount.name.ilike(_literal(name)))).first()
        is not None
    )


def local_admin(session: Session, but: UUID | None = None) -> bool:
    """Whether an admin can log in without the provider."""
    linked = select(UserIdentity.user_id)
    query = select(UserAccount.id).where(
        UserAccount.role == "admin",
        UserAccount.disabled_at.is_(None),
        UserAccount.password_hash.is_not(None),
        UserAccount.id.not_in(linked),
    )
    if but is not None:
        query = query.where(UserAccount.id != but)
    return session.scalars(query.limit(1)).first() is not None


def people(session: Session) -> int:
    """How many accounts came from a provider."""
    return len(session.scalars(select(UserIdentity.id)).all())


def _literal(text: str) -> str:
    """A text as a pattern that matches only itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

"""SELECTs of accounts, their identities at the identity provider, and their API tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity


def select_users() -> Select[UserAccount]:
    """Return the SELECT of all accounts."""
    return select(UserAccount)


def select_valid_tokens(user_id: UUID) -> Select[ApiToken]:
    """Return the SELECT of an account's API tokens that are not revoked."""
    return select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))


def find_user(session: Session, name: str) -> UserAccount | None:
    """Return the account with this name, or None."""
    return session.scalars(select(UserAccount).where(UserAccount.name == name)).first()


def lock_admins(session: Session) -> Sequence[UserAccount]:
    """Return all admins, locked, so that two of them cannot demote each other at the same time."""
    return session.scalars(select(UserAccount).where(UserAccount.role == "admin").with_for_update()).all()


def load_enabled_users(session: Session, user_ids: Collection[UUID]) -> dict[UUID, UserAccount]:
    """Return those of the accounts that are not disabled, by ID."""
    query = select(UserAccount).where(UserAccount.id.in_(user_ids), UserAccount.disabled_at.is_(None))
    return {user.id: user for user in session.scalars(query)}


def find_identity(session: Session, user_id: UUID) -> UserIdentity | None:
    """Return the identity of an account at the identity provider, or None for a local account."""
    return session.scalars(select(UserIdentity).where(UserIdentity.user_id == user_id)).first()


def list_linked_ids(session: Session, user_ids: Sequence[UUID]) -> set[UUID]:
    """Return the IDs of the accounts that use single sign-on."""
    return set(session.scalars(select(UserIdentity.user_id).where(UserIdentity.user_id.in_(user_ids))))

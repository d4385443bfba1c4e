"""SELECTs of login sessions, API tokens that authenticate a request, and login attempts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.login_attempt import LoginAttempt
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity


def find_login_session(session: Session, token_hash: bytes) -> Row[LoginSession, UserAccount] | None:
    """Return the open session of a cookie and its enabled account, or None."""
    return session.execute(
        select(LoginSession, UserAccount)
        .join(UserAccount, UserAccount.id == LoginSession.user_id)
        .where(LoginSession.token_hash == token_hash, LoginSession.expires_at > utc_now())
        .where(UserAccount.disabled_at.is_(None))
    ).first()


def find_api_token(session: Session, token_hash: bytes) -> Row[ApiToken, UserAccount, datetime | None] | None:
    """Return the API token that is not revoked, its enabled account and its last single sign-on, or None."""
    return session.execute(
        select(ApiToken, UserAccount, UserIdentity.seen_at)
        .join(UserAccount, UserAccount.id == ApiToken.user_id)
        .outerjoin(UserIdentity, UserIdentity.user_id == UserAccount.id)
        .where(ApiToken.token_hash == token_hash, ApiToken.revoked_at.is_(None))
        .where(UserAccount.disabled_at.is_(None))
    ).first()


def list_open_sessions(session: Session, session_ids: Collection[UUID]) -> set[UUID]:
    """Return the IDs of those sessions that are neither closed nor expired."""
    query = select(LoginSession.id).where(
        LoginSession.id.in_(session_ids), LoginSession.expires_at > utc_now()
    )
    return set(session.scalars(query))


def list_tokens(
    session: Session, token_ids: Collection[UUID]
) -> Sequence[Row[UUID, str, datetime | None, datetime | None]]:
    """Return id, role, expires_at and seen_at (last single sign-on) of the tokens that are not revoked."""
    return session.execute(
        select(ApiToken.id, ApiToken.role, ApiToken.expires_at, UserIdentity.seen_at)
        .outerjoin(UserIdentity, UserIdentity.user_id == ApiToken.user_id)
        .where(ApiToken.id.in_(token_ids), ApiToken.revoked_at.is_(None))
    ).all()


def count_attempts(
    session: Session, since: datetime, *, account: str | None = None, address: str | None = None
) -> int:
    """Return the number of login attempts after `since` for an account digest, an address, or both."""
    query = select(func.count()).where(LoginAttempt.at > since)
    if account is not None:
        query = query.where(LoginAttempt.account == account)
    if address is not None:
        query = query.where(LoginAttempt.address == address)
    return session.scalars(query).one()

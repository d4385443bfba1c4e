"""Logging in and out: passwords, one-time links, and a bound on guessing."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, sessionmaker

from culprit.auth import audit
from culprit.auth.actor import Actor, actor_of
from culprit.auth.tokens import HASHER, hash_password, new_token, password_matches, token_hash
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, TooMany, Unauthenticated
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import LoginAttempt, LoginLink, LoginSession, UserAccount, UserIdentity

WINDOW = timedelta(minutes=1)
KEEP = timedelta(hours=1)
PER_ACCOUNT_AND_ADDRESS = 10
PER_ADDRESS = 60
PER_ACCOUNT = 120  # far above a person, far below a guesser; does not let a stranger lock somebody out
LOCK = 0x4C4F474E


def count_attempt(sessions: sessionmaker[Session], name: str, address: str) -> UUID:
    """Note an attempt before the password is looked at; raises TooMany. Committed on its own.

    The name is kept as a digest: people type passwords into the wrong field.
    """
    account = hashlib.sha256(name.strip().casefold().encode()).hexdigest()[:32]
    with unit_of_work(sessions) as session:
        session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        session.execute(delete(LoginAttempt).where(LoginAttempt.at < now() - KEEP))
        by_account = LoginAttempt.account == account
        by_address = LoginAttempt.address == address
        for limit, *who in (
            (PER_ACCOUNT_AND_ADDRESS, by_account, by_address),
            (PER_ADDRESS, by_address),
            (PER_ACCOUNT, by_account),
        ):
            recent = select(func.count()).where(*who, LoginAttempt.at > now() - WINDOW)
            if session.scalars(recent).one() >= limit:
                raise TooMany("auth.too_many_attempts", retry_after_s=int(WINDOW.total_seconds()))
        attempt = LoginAttempt(account=account, address=address, at=now())
        session.add(attempt)
        session.flush()
        return attempt.id


def log_in(session: Session, attempt: UUID, name: str, password: str) -> UserAccount:
    """The account of name and password; a success is not counted as an attempt. Raises Unauthenticated."""
    user = session.scalars(select(UserAccount).where(UserAccount.name == name.strip())).first()
    matches = password_matches(user.password_hash if user else None, password)
    if user is None or not matches or user.disabled_at is not None:
        raise Unauthenticated("auth.wrong_password")
    forget_attempt(session, attempt)
    assert user.password_hash is not None
    if HASHER.check_needs_rehash(user.password_hash):
        user.password_hash = hash_password(password)
    return user


def forget_attempt(session: Session, attempt: UUID) -> None:
    """Do not count an attempt that went well."""
    session.execute(delete(LoginAttempt).where(LoginAttempt.id == attempt))


def note_failure(sessions: sessionmaker[Session], name: str, address: str) -> None:
    """Put a failed login into the audit log; a name that is no account is not repeated there."""
    with unit_of_work(sessions) as session:
        user = session.scalars(select(UserAccount).where(UserAccount.name == name.strip())).first()
        audit.record(
            session, None, "session.refused", "user", user.id if user else "unknown", address=address
        )


def log_in_by_link(session: Session, token: str) -> UserAccount:
    """The account of a login link, which is used up by that. Raises Unauthenticated."""
    row = session.execute(
        update(LoginLink)
        .where(LoginLink.token_hash == token_hash(token))
        .where(LoginLink.used_at.is_(None), LoginLink.expires_at > now())
        .values(used_at=now())
        .returning(LoginLink.user_id)
    ).first()
    user = session.get(UserAccount, row.user_id) if row else None
    if user is None or user.disabled_at is not None:
        raise Unauthenticated("auth.link_over")
    return user


def open_session(session: Session, user: UserAccount, hours: int, address: str) -> tuple[str, Actor]:
    """A new session, its cookie value and its actor. Sessions that have run out are swept."""
    token = new_token()
    at = now()
    session.execute(delete(LoginSession).where(LoginSession.expires_at < at))
    login = LoginSession(
        user_id=user.id,
        token_hash=token_hash(token),
        csrf_token=new_token(),
        created_at=at,
        expires_at=at + timedelta(hours=hours),
        last_seen_at=at,
    )
    session.add(login)
    session.flush()
    who = actor_of(user)
    actor = Actor(
        who.id, who.name, who.role, who.label_scope, who.locale,
        address=address, session_id=login.id, csrf=login.csrf_token,
    )  # fmt: skip
    audit.record(session, actor, "session.opened", "user", user.id)
    return token, actor


def close_session(session: Session, actor: Actor) -> None:
    """Log out."""
    session.execute(delete(LoginSession).where(LoginSession.id == actor.session_id))
    audit.record(session, actor, "session.closed", "user", actor.id)


def close_sessions(session: Session, user_id: UUID, keep: UUID | None = None) -> None:
    """End all sessions of an account, but for `keep`."""
    where = [LoginSession.user_id == user_id]
    if keep is not None:
        where.append(LoginSession.id != keep)
    session.execute(delete(LoginSession).where(*where))


def new_link(session: Session, user: UserAccount, valid: timedelta = timedelta(hours=24)) -> str:
    """The token of a new one-time login link; earlier unused links of that account end."""
    at: datetime = now()
    session.execute(delete(LoginLink).where(LoginLink.user_id == user.id, LoginLink.used_at.is_(None)))
    token = new_token()
    session.add(LoginLink(user_id=user.id, token_hash=token_hash(token), expires_at=at + valid))
    session.flush()
    return token


def change_password(session: Session, actor: Actor, user: UserAccount, new: str, current: str | None) -> None:
    """Set one's own password, and end the other sessions. Raises Invalid where the current one is wrong.

    Who signs in at an identity provider gets none here: it would outlive what the provider takes away.
    """
    if session.scalars(select(UserIdentity.id).where(UserIdentity.user_id == user.id)).first():
        raise Conflict("user.signs_in_elsewhere", name=user.name)
    if user.password_hash is not None and not password_matches(user.password_hash, current or ""):
        raise Invalid("auth.current_password_wrong")
    user.password_hash = hash_password(new)
    close_sessions(session, user.id, keep=actor.session_id)
    audit.record(session, actor, "user.password_changed", "user", user.id)

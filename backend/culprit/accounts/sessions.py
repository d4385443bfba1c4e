"""Log in and out: passwords, one-time links, and a limit on attempts."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, update
from sqlalchemy.orm import Session, sessionmaker

from culprit.accounts import audit, proof
from culprit.accounts.actor import Actor, build_actor
from culprit.accounts.queries.logins import count_attempts
from culprit.accounts.queries.users import find_identity, find_user
from culprit.accounts.tokens import HASHER, generate_token, hash_password, hash_token, is_password_correct
from culprit.infra.db.advisory_locks import lock_transaction
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.login_attempt import LoginAttempt
from culprit.infra.models.accounts.login_link import LoginLink
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.web.errors import (
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    TooManyRequestsError,
    UnauthenticatedError,
)

ATTEMPT_WINDOW = timedelta(minutes=1)
ATTEMPT_RETENTION = timedelta(hours=1)
PER_ACCOUNT_AND_ADDRESS = 10
PER_ADDRESS = 60
PER_ACCOUNT = 120  # above what a person needs, and too low for guessing; an attacker cannot lock out a user
LOCK = 0x4C4F474E


def record_attempt(sessions: sessionmaker[Session], name: str, address: str) -> UUID:
    """Record an attempt before the password check. Raises TooManyRequestsError. Commits separately.

    The name is stored as a digest, because users sometimes type their password into this field.
    """
    account = hashlib.sha256(name.strip().casefold().encode()).hexdigest()[:32]
    with unit_of_work(sessions) as session:
        lock_transaction(session, LOCK)
        session.execute(delete(LoginAttempt).where(LoginAttempt.at < utc_now() - ATTEMPT_RETENTION))
        since = utc_now() - ATTEMPT_WINDOW
        for limit, count in (
            (PER_ACCOUNT_AND_ADDRESS, count_attempts(session, since, account=account, address=address)),
            (PER_ADDRESS, count_attempts(session, since, address=address)),
            (PER_ACCOUNT, count_attempts(session, since, account=account)),
        ):
            if count >= limit:
                raise TooManyRequestsError(
                    "auth.too_many_attempts", retry_after_s=int(ATTEMPT_WINDOW.total_seconds())
                )
        attempt = LoginAttempt(account=account, address=address, at=utc_now())
        session.add(attempt)
        session.flush()
        return attempt.id


def log_in(session: Session, attempt: UUID, name: str, password: str) -> UserAccount:
    """Return the account of name and password; a success is not counted. Raises UnauthenticatedError."""
    user = find_user(session, name.strip())
    matches = is_password_correct(user.password_hash if user else None, password)
    if user is None or not matches or user.disabled_at is not None:
        raise UnauthenticatedError("auth.wrong_password")
    delete_attempt(session, attempt)
    assert user.password_hash is not None
    if HASHER.check_needs_rehash(user.password_hash):
        user.password_hash = hash_password(password)
    return user


def delete_attempt(session: Session, attempt: UUID) -> None:
    """Delete the record of a successful attempt."""
    session.execute(delete(LoginAttempt).where(LoginAttempt.id == attempt))


def record_failure(sessions: sessionmaker[Session], name: str, address: str) -> None:
    """Record a failed login in the audit log; a name without an account is not stored there."""
    with unit_of_work(sessions) as session:
        user = find_user(session, name.strip())
        audit.record_action(
            session, None, "session.refused", "user", user.id if user else "unknown", address=address
        )


def log_in_by_link(session: Session, token: str) -> UserAccount:
    """Return the account of a login link and invalidate the link. Raises UnauthenticatedError."""
    row = session.execute(
        update(LoginLink)
        .where(LoginLink.token_hash == hash_token(token))
        .where(LoginLink.used_at.is_(None), LoginLink.expires_at > utc_now())
        .values(used_at=utc_now())
        .returning(LoginLink.user_id)
    ).first()
    user = session.get(UserAccount, row.user_id) if row else None
    if user is None or user.disabled_at is not None:
        raise UnauthenticatedError("auth.link_over")
    return user


def open_session(
    session: Session, user: UserAccount, hours: int, address: str, *, proved_at: datetime | None
) -> tuple[str, Actor]:
    """Create a session; return its cookie value and its actor. Deletes expired sessions.

    `proved_at` is the time of authentication; None if it is unknown.
    """
    token = generate_token()
    at = utc_now()
    session.execute(delete(LoginSession).where(LoginSession.expires_at < at))
    login = LoginSession(
        user_id=user.id,
        token_hash=hash_token(token),
        csrf_token=generate_token(),
        created_at=at,
        expires_at=at + timedelta(hours=hours),
        last_seen_at=at,
        proved_at=proved_at,
    )
    session.add(login)
    session.flush()
    who = build_actor(user)
    actor = Actor(
        who.id, who.name, who.role, who.label_scope, who.locale,
        address=address, session_id=login.id, csrf=login.csrf_token, proved_at=proved_at,
    )  # fmt: skip
    audit.record_action(session, actor, "session.opened", "user", user.id)
    return token, actor


def close_session(session: Session, actor: Actor) -> None:
    """Log out."""
    session.execute(delete(LoginSession).where(LoginSession.id == actor.session_id))
    audit.record_action(session, actor, "session.closed", "user", actor.id)


def close_sessions(session: Session, user_id: UUID, keep: UUID | None = None) -> None:
    """End all sessions of an account except `keep`."""
    where = [LoginSession.user_id == user_id]
    if keep is not None:
        where.append(LoginSession.id != keep)
    session.execute(delete(LoginSession).where(*where))


def issue_login_link(session: Session, user: UserAccount, valid: timedelta = timedelta(hours=24)) -> str:
    """Return the token of a new one-time login link; earlier unused links of the account become invalid."""
    at: datetime = utc_now()
    session.execute(delete(LoginLink).where(LoginLink.user_id == user.id, LoginLink.used_at.is_(None)))
    token = generate_token()
    session.add(LoginLink(user_id=user.id, token_hash=hash_token(token), expires_at=at + valid))
    session.flush()
    return token


def check_own_password(
    sessions: sessionmaker[Session], session: Session, actor: Actor, user: UserAccount, password: str
) -> None:
    """Raise InvalidRequestError for a wrong password of `user`, TooManyRequestsError after too many attempts."""
    attempt = record_attempt(sessions, user.name, actor.address or "unknown")
    if not is_password_correct(user.password_hash, password):
        with unit_of_work(sessions) as apart:
            audit.record_action(apart, actor, "user.password_refused", "user", user.id)
        raise InvalidRequestError("auth.current_password_wrong")
    delete_attempt(session, attempt)


def prove_by_password(
    sessions: sessionmaker[Session], session: Session, actor: Actor, user: UserAccount, password: str
) -> None:
    """Reauthenticate a session with the password of its account.

    Raises ForbiddenError, ConflictError, InvalidRequestError, TooManyRequestsError.
    """
    proof.require_session(actor)
    assert actor.session_id is not None
    _require_local_account(session, user)
    if user.password_hash is None:
        raise ForbiddenError("auth.password_first")
    check_own_password(sessions, session, actor, user, password)
    proof.renew_proof(session, actor, actor.session_id, "password")


def change_password(  # noqa: PLR0917
    sessions: sessionmaker[Session],
    session: Session,
    actor: Actor,
    user: UserAccount,
    new: str,
    current: str | None,
) -> None:
    """Set the own password of a session's account, and end its other sessions and its login links.

    The current password is the proof; for the first password, it is the login link that opened the session.
    An account with single sign-on cannot have a password: it would stay valid after the provider withdraws
    access.

    Raises:
        ForbiddenError: an API token, or a first password later than `PROOF_VALID` after the login link.
        ConflictError: the account uses single sign-on.
        InvalidRequestError: the current password is wrong.
        TooManyRequestsError: too many wrong passwords.
    """
    proof.require_session(actor)
    assert actor.session_id is not None
    _require_local_account(session, user)
    if user.password_hash is not None:
        check_own_password(sessions, session, actor, user, current or "")
    elif not proof.is_proof_recent(actor.proved_at):
        raise ForbiddenError("auth.link_window_over", minutes=int(proof.PROOF_VALID.total_seconds() // 60))
    user.password_hash = hash_password(new)
    close_sessions(session, user.id, keep=actor.session_id)
    session.execute(delete(LoginLink).where(LoginLink.user_id == user.id, LoginLink.used_at.is_(None)))
    proof.renew_proof(session, actor, actor.session_id, "new password")
    audit.record_action(session, actor, "user.password_changed", "user", user.id)


def _require_local_account(session: Session, user: UserAccount) -> None:
    if find_identity(session, user.id) is not None:
        raise ConflictError("user.uses_single_sign_on", name=user.name)

"""Logging in and out: passwords, one-time links, and a bound on guessing."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, sessionmaker

from culprit.auth import audit, proof
from culprit.auth.actor import Actor, actor_of
from culprit.auth.tokens import HASHER, hash_password, new_token, password_matches, token_hash
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Forbidden, Invalid, TooMany, Unauthenticated
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


def open_session(
    session: Session, user: UserAccount, hours: int, address: str, *, proved_at: datetime | None
) -> tuple[str, Actor]:
    """A new session, its cookie value and its actor. Sessions that have run out are swept.

    `proved_at` is when the person has shown who they are; None where that is not known.
    """
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
        proved_at=proved_at,
    )
    session.add(login)
    session.flush()
    who = actor_of(user)
    actor = Actor(
        who.id, who.name, who.role, who.label_scope, who.locale,
        address=address, session_id=login.id, csrf=login.csrf_token, proved_at=proved_at,
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


def check_own_password(
    sessions: sessionmaker[Session], session: Session, actor: Actor, user: UserAccount, password: str
) -> None:
    """Raise Invalid for a password that is not the one of `user`, TooMany after as many guesses as a login allows."""
    attempt = count_attempt(sessions, user.name, actor.address or "unknown")
    if not password_matches(user.password_hash, password):
        with unit_of_work(sessions) as apart:
            audit.record(apart, actor, "user.password_refused", "user", user.id)
        raise Invalid("auth.current_password_wrong")
    forget_attempt(session, attempt)


def prove_by_password(
    sessions: sessionmaker[Session], session: Session, actor: Actor, user: UserAccount, password: str
) -> None:
    """Renew the proof of a session with the password of its account. Raises Forbidden, Conflict, Invalid, TooMany."""
    proof.require_session(actor)
    assert actor.session_id is not None
    _require_local(session, user)
    if user.password_hash is None:
        raise Forbidden("auth.password_first")
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

    The current password is the proof; for the first password, the login link that opened the session is. An account of
    an identity provider gets no password: it would outlive what the provider takes away.

    Raises:
        Forbidden: an API token, or a first password later than `PROOF_VALID` after the login link.
        Conflict: the account signs in at an identity provider.
        Invalid: the current password is wrong.
        TooMany: too many wrong passwords.
    """
    proof.require_session(actor)
    assert actor.session_id is not None
    _require_local(session, user)
    if user.password_hash is not None:
        check_own_password(sessions, session, actor, user, current or "")
    elif not proof.is_recent(actor.proved_at):
        raise Forbidden("auth.link_window_over", minutes=int(proof.PROOF_VALID.total_seconds() // 60))
    user.password_hash = hash_password(new)
    close_sessions(session, user.id, keep=actor.session_id)
    session.execute(delete(LoginLink).where(LoginLink.user_id == user.id, LoginLink.used_at.is_(None)))
    proof.renew_proof(session, actor, actor.session_id, "new password")
    audit.record(session, actor, "user.password_changed", "user", user.id)


def _require_local(session: Session, user: UserAccount) -> None:
    if session.scalars(select(UserIdentity.id).where(UserIdentity.user_id == user.id)).first():
        raise Conflict("user.signs_in_elsewhere", name=user.name)

"""Require recent reauthentication for changes to permissions and credentials.

A stolen token or an unattended session must not be enough to create accounts, tokens and passwords, because
these would outlast it. These routes take `ProvenActor`, which accepts a session whose user entered a password
or signed in at the identity provider within `PROOF_VALID`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.dependencies import CurrentActor
from culprit.accounts.queries.users import find_identity
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.request_dependencies import DbDep
from culprit.web.errors import ForbiddenError, ProofRequiredError

#: Validity of a proof.
PROOF_VALID = timedelta(minutes=15)


def is_proof_recent(proved_at: datetime | None) -> bool:
    """Return whether a proof of that time is still valid."""
    return proved_at is not None and utc_now() - proved_at <= PROOF_VALID


def require_session(actor: Actor) -> None:
    """Raise ForbiddenError for an API token."""
    if actor.session_id is None:
        raise ForbiddenError("auth.session_needed")


def require_proof(session: Session, actor: Actor) -> None:
    """Raise ForbiddenError for an API token or an account without a password, ProofRequiredError for an
    expired proof.
    """
    require_session(actor)
    user = session.get_one(UserAccount, actor.id)
    how = _get_proof_method(session, user)
    if how is None:
        raise ForbiddenError("auth.password_first")
    if not is_proof_recent(actor.proved_at):
        raise ProofRequiredError("auth.proof_needed", how=how, minutes=int(PROOF_VALID.total_seconds() // 60))


def _get_proof_method(session: Session, user: UserAccount) -> str | None:
    if find_identity(session, user.id) is not None:
        return "provider"
    return "password" if user.password_hash is not None else None


def renew_proof(session: Session, actor: Actor, session_id: UUID, way: str) -> None:
    """Record that the user of a session has reauthenticated."""
    session.execute(
        update(LoginSession).where(LoginSession.id == session_id).values(proved_at=utc_now()),
        execution_options={"synchronize_session": False},
    )
    audit.record_action(session, actor, "session.proved", "user", actor.id, way=way)


def get_proven_actor(session: DbDep, actor: CurrentActor) -> Actor:
    """Return the actor of a session with a recent proof. Raises as `require_proof` does."""
    require_proof(session, actor)
    return actor


ProvenActor = Annotated[Actor, Depends(get_proven_actor, scope="function")]

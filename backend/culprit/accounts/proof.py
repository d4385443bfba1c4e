"""Recent proof of who is at the keyboard, for what changes who may do what.

A token, or a session that somebody left open, must not be enough to create accounts, tokens and passwords: what they
change would outlive them. These routes take `ProvenActor`, which accepts a session whose person has shown a password or
has signed in at the identity provider within `PROOF_VALID`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.dependencies import CurrentActor
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, ProofNeeded
from culprit.models import LoginSession, UserAccount, UserIdentity

#: For so long after it was shown, a proof is good for everything that needs one.
PROOF_VALID = timedelta(minutes=15)


def is_recent(proved_at: datetime | None) -> bool:
    """Return whether a proof of that time is still good."""
    return proved_at is not None and now() - proved_at <= PROOF_VALID


def require_session(actor: Actor) -> None:
    """Raise Forbidden for an API token."""
    if actor.session_id is None:
        raise Forbidden("auth.session_needed")


def require_proof(session: Session, actor: Actor) -> None:
    """Raise Forbidden for an API token or an account without a password, ProofNeeded for a proof that is too old."""
    require_session(actor)
    user = session.get_one(UserAccount, actor.id)
    how = _proof_kind(session, user)
    if how is None:
        raise Forbidden("auth.password_first")
    if not is_recent(actor.proved_at):
        raise ProofNeeded("auth.proof_needed", how=how, minutes=int(PROOF_VALID.total_seconds() // 60))


def _proof_kind(session: Session, user: UserAccount) -> str | None:
    identity = select(UserIdentity.id).where(UserIdentity.user_id == user.id)
    if session.scalars(identity).first() is not None:
        return "provider"
    return "password" if user.password_hash is not None else None


def renew_proof(session: Session, actor: Actor, session_id: UUID, way: str) -> None:
    """Note that the person of a session has proved who they are."""
    session.execute(
        update(LoginSession).where(LoginSession.id == session_id).values(proved_at=now()),
        execution_options={"synchronize_session": False},
    )
    audit.record(session, actor, "session.proved", "user", actor.id, way=way)


def proven_actor(session: Db, actor: CurrentActor) -> Actor:
    """Return the actor of a session with a recent proof. Raises as `require_proof` does."""
    require_proof(session, actor)
    return actor


ProvenActor = Annotated[Actor, Depends(proven_actor, scope="function")]

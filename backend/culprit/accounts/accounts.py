"""Accounts and API tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor, rank, role_within
from culprit.auth.policy import policy
from culprit.auth.schemas import TokenCreate, UserCreate, UserUpdate
from culprit.auth.sessions import close_sessions, new_link
from culprit.auth.tokens import API_PREFIX, hash_password, new_token, token_hash
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Forbidden, Invalid, NotFound
from culprit.models import ApiToken, UserAccount, UserIdentity


def linked(session: Session, user_id: UUID) -> UserIdentity | None:
    """Who an account is at an identity provider; None for one of this platform."""
    return session.scalars(select(UserIdentity).where(UserIdentity.user_id == user_id)).first()


def linked_among(session: Session, user_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the accounts that sign in at an identity provider."""
    return set(session.scalars(select(UserIdentity.user_id).where(UserIdentity.user_id.in_(user_ids))))


def link_url(public_url: str, token: str) -> str:
    """A login link. The token is in the fragment, which browsers never send and servers never log."""
    return f"{public_url.rstrip('/')}/login#token={token}"


def create_user(session: Session, actor: Actor, body: UserCreate) -> tuple[UserAccount, str | None]:
    """A new account, and the token of its login link where it has no password."""
    policy(actor, "user.manage")
    _require_scope_for(body.role, body.label_scope)
    if session.scalars(select(UserAccount).where(UserAccount.name == body.name)).first():
        raise Conflict("user.name_taken", name=body.name)
    user = UserAccount(
        name=body.name,
        role=body.role,
        label_scope=body.label_scope,
        locale=body.locale,
        password_hash=hash_password(body.password.get_secret_value()) if body.password else None,
    )
    session.add(user)
    session.flush()
    link = new_link(session, user) if body.password is None else None
    audit.record(
        session, actor, "user.created", "user", user.id,
        name=user.name, role=user.role, label_scope=body.label_scope,
    )  # fmt: skip
    return user, link


def _require_scope_for(role: str, label_scope: Mapping[str, Sequence[str]]) -> None:
    if role_within(role, label_scope) != role:
        raise Invalid("user.admin_unscoped")


def update_user(
    session: Session, actor: Actor, user_id: UUID, body: UserUpdate
) -> tuple[UserAccount, str | None]:
    """Change an account. The last admin that can log in stays one."""
    policy(actor, "user.manage")
    # All admins are locked together: two of them must not demote each other at the same moment.
    admins = session.scalars(select(UserAccount).where(UserAccount.role == "admin").with_for_update()).all()
    user = session.get(UserAccount, user_id, with_for_update=True)
    if user is None:
        raise NotFound("user.not_found")
    # One who comes from an identity provider does not count: that may be away, or take the role away.
    away = linked_among(session, [one.id for one in admins] + [user.id])
    others = [one for one in admins if one.id not in {user.id, *away} and one.disabled_at is None]
    ends = body.disabled is True or (body.role is not None and body.role != "admin")
    if user.role == "admin" and user.id not in away and ends and not others:
        raise Conflict("user.last_admin", name=user.name)
    if user.id in away and (body.new_login_link or body.role not in {None, user.role}):
        raise Conflict("user.signs_in_elsewhere", name=user.name)
    _require_scope_for(
        body.role or user.role, user.label_scope if body.label_scope is None else body.label_scope
    )
    changed: dict[str, Any] = {}
    if body.role is not None and body.role != user.role:
        changed["role"] = [user.role, body.role]
        user.role = body.role
    if body.label_scope is not None and body.label_scope != user.label_scope:
        changed["label_scope"] = [user.label_scope, body.label_scope]
        user.label_scope = dict(body.label_scope)
    if body.disabled is not None and body.disabled != (user.disabled_at is not None):
        changed["disabled"] = body.disabled
        user.disabled_at = now() if body.disabled else None
    link = None
    if body.new_login_link:
        changed["new_login_link"] = True
        user.password_hash = None
        link = new_link(session, user)
    if body.disabled or body.new_login_link:
        close_sessions(session, user.id)
    if changed:
        audit.record(session, actor, "user.changed", "user", user.id, name=user.name, **changed)
    return user, link


def create_token(session: Session, actor: Actor, body: TokenCreate) -> tuple[ApiToken, str]:
    """A token of one's own, never above one's role."""
    policy(actor, "token.own")
    role = body.role or actor.role
    if rank(role) > rank(actor.role):
        raise Forbidden("auth.token_above_role", role=role, own=actor.role)
    text = new_token(API_PREFIX)
    token = ApiToken(
        user_id=actor.id,
        name=body.name,
        token_hash=token_hash(text),
        prefix=text[: len(API_PREFIX) + 4],
        role=role,
        purpose=body.purpose,
        expires_at=now() + timedelta(days=body.expires_in_days) if body.expires_in_days else None,
    )
    session.add(token)
    session.flush()
    audit.record(
        session, actor, "token.created", "token", token.id, name=token.name, role=role, purpose=body.purpose
    )
    return token, text


def revoke_token(session: Session, actor: Actor, token_id: UUID) -> None:
    """End a token of one's own; those of others do not exist."""
    token = session.get(ApiToken, token_id, with_for_update=True)
    if token is None or token.user_id != actor.id or token.revoked_at is not None:
        raise NotFound("token.not_found")
    token.revoked_at = now()
    audit.record(session, actor, "token.revoked", "token", token.id, name=token.name)


def count_users(session: Session) -> int:
    """How many accounts there are."""
    return session.scalars(select(func.count(UserAccount.id))).one()

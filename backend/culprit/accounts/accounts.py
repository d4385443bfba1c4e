"""Create and change accounts and API tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor, limit_role, rank_role
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.users import find_user, list_linked_ids, lock_admins
from culprit.accounts.schemas import TokenCreate, UserCreate, UserUpdate
from culprit.accounts.sessions import close_sessions, issue_login_link
from culprit.accounts.tokens import API_PREFIX, generate_token, hash_password, hash_token
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.web.errors import ConflictError, ForbiddenError, InvalidRequestError, NotFoundError


def build_login_url(public_url: str, token: str) -> str:
    """Return a login link. The token is in the fragment, which browsers do not send and servers do not log."""
    return f"{public_url.rstrip('/')}/login#token={token}"


def create_user(session: Session, actor: Actor, body: UserCreate) -> tuple[UserAccount, str | None]:
    """Create an account; return it with the token of its login link if it has no password."""
    authorize(actor, "user.manage")
    _require_scope_for(body.role, body.label_scope)
    if find_user(session, body.name):
        raise ConflictError("user.name_taken", name=body.name)
    user = UserAccount(
        name=body.name,
        role=body.role,
        label_scope=body.label_scope,
        locale=body.locale,
        password_hash=hash_password(body.password.get_secret_value()) if body.password else None,
    )
    session.add(user)
    session.flush()
    link = issue_login_link(session, user) if body.password is None else None
    audit.record_action(
        session, actor, "user.created", "user", user.id,
        name=user.name, role=user.role, label_scope=body.label_scope,
    )  # fmt: skip
    return user, link


def _require_scope_for(role: str, label_scope: Mapping[str, Sequence[str]]) -> None:
    if limit_role(role, label_scope) != role:
        raise InvalidRequestError("user.admin_unscoped")


def update_user(
    session: Session, actor: Actor, user_id: UUID, body: UserUpdate
) -> tuple[UserAccount, str | None]:
    """Change an account. The last admin who can log in keeps the role."""
    authorize(actor, "user.manage")
    admins = lock_admins(session)
    user = session.get(UserAccount, user_id, with_for_update=True)
    if user is None:
        raise NotFoundError("user.not_found")
    # An admin with single sign-on does not count: the provider can be unavailable or withdraw the role.
    away = list_linked_ids(session, [admin.id for admin in admins] + [user.id])
    others = [admin for admin in admins if admin.id not in {user.id, *away} and admin.disabled_at is None]
    ends = body.disabled is True or (body.role is not None and body.role != "admin")
    if user.role == "admin" and user.id not in away and ends and not others:
        raise ConflictError("user.last_admin", name=user.name)
    if user.id in away and (body.new_login_link or body.role not in {None, user.role}):
        raise ConflictError("user.uses_single_sign_on", name=user.name)
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
        user.disabled_at = utc_now() if body.disabled else None
    link = None
    if body.new_login_link:
        changed["new_login_link"] = True
        user.password_hash = None
        link = issue_login_link(session, user)
    if body.disabled or body.new_login_link:
        close_sessions(session, user.id)
    if changed:
        audit.record_action(session, actor, "user.changed", "user", user.id, name=user.name, **changed)
    return user, link


def create_token(session: Session, actor: Actor, body: TokenCreate) -> tuple[ApiToken, str]:
    """Create a token of the actor, limited to the actor's role."""
    authorize(actor, "token.own")
    role = body.role or actor.role
    if rank_role(role) > rank_role(actor.role):
        raise ForbiddenError("auth.token_above_role", role=role, own=actor.role)
    text = generate_token(API_PREFIX)
    token = ApiToken(
        user_id=actor.id,
        name=body.name,
        token_hash=hash_token(text),
        prefix=text[: len(API_PREFIX) + 4],
        role=role,
        purpose=body.purpose,
        expires_at=utc_now() + timedelta(days=body.expires_in_days) if body.expires_in_days else None,
    )
    session.add(token)
    session.flush()
    audit.record_action(
        session, actor, "token.created", "token", token.id, name=token.name, role=role, purpose=body.purpose
    )
    return token, text


def revoke_token(session: Session, actor: Actor, token_id: UUID) -> None:
    """Revoke a token of the actor; tokens of others are not found."""
    token = session.get(ApiToken, token_id, with_for_update=True)
    if token is None or token.user_id != actor.id or token.revoked_at is not None:
        raise NotFoundError("token.not_found")
    token.revoked_at = utc_now()
    audit.record_action(session, actor, "token.revoked", "token", token.id, name=token.name)

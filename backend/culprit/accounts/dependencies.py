"""Determine the actor of a request from its session cookie or bearer token.

With a cookie, every unsafe method requires the session's CSRF token in a header and a same-origin Origin:
another site can send the cookie, but can neither read the token nor forge the Origin.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from sqlalchemy import update
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor, lower_role
from culprit.accounts.authorization import PURPOSES
from culprit.accounts.queries.logins import find_api_token, find_login_session
from culprit.accounts.tokens import API_PREFIX, hash_token
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.request_dependencies import DbDep
from culprit.infra.settings import Settings
from culprit.web.errors import ForbiddenError, UnauthenticatedError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LAST_SEEN_INTERVAL = timedelta(minutes=1)
#: Tokens of users with single sign-on expire unless the user signs in at the provider regularly.
TOKEN_SUSPENSION_AFTER = timedelta(days=30)


def get_cookie_name(settings: Settings) -> str:
    """Return the cookie name. Over TLS its prefix binds it to this host, so that other hosts cannot set it."""
    return "__Host-culprit_session" if settings.cookies_secure else "culprit_session"


def set_session_cookie(response: Response, settings: Settings, token: str, hours: int) -> None:
    """Set the session cookie."""
    response.set_cookie(
        get_cookie_name(settings),
        token,
        max_age=hours * 3600,
        httponly=True,
        samesite="lax",
        secure=settings.cookies_secure,
        path="/",
    )


def get_client_address(request: Request) -> str | None:
    """Return the client address as the server sees it."""
    return request.client.host if request.client else None


def require_same_origin(request: Request) -> None:
    """Refuse a request that the browser marks as sent by another site."""
    origin = request.headers.get("origin")
    if origin is None:
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            raise ForbiddenError("auth.foreign_origin")
        return
    settings: Settings = request.app.state.settings
    own_hosts = {request.headers.get("host", ""), urlsplit(settings.public_url).netloc}
    try:
        origin_host = urlsplit(origin).netloc
    except ValueError:
        origin_host = ""
    if not origin_host or origin_host not in own_hosts:
        raise ForbiddenError("auth.foreign_origin")


def get_current_actor(request: Request, session: DbDep) -> Actor:
    """Return the actor of a request. Raises UnauthenticatedError, or ForbiddenError for a forged request."""
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise UnauthenticatedError("auth.needed")
        return _authenticate_token(session, request, token.strip())
    cookie = request.cookies.get(get_cookie_name(request.app.state.settings))
    if not cookie:
        raise UnauthenticatedError("auth.needed")
    return _authenticate_session(session, request, cookie)


CurrentActor = Annotated[Actor, Depends(get_current_actor, scope="function")]


def _authenticate_session(session: Session, request: Request, cookie: str) -> Actor:
    row = find_login_session(session, hash_token(cookie))
    if row is None:
        raise UnauthenticatedError("auth.session_over")
    login, user = row
    if request.method not in SAFE_METHODS:
        require_same_origin(request)
        sent = request.headers.get("x-csrf-token", "").encode("utf-8", "replace")
        if not hmac.compare_digest(sent, login.csrf_token.encode()):
            raise ForbiddenError("auth.csrf")
    if utc_now() - login.last_seen_at > LAST_SEEN_INTERVAL:
        session.execute(
            update(LoginSession).where(LoginSession.id == login.id).values(last_seen_at=utc_now()),
            execution_options={"synchronize_session": False},
        )
    return Actor(
        user.id,
        user.name,
        user.role,
        user.label_scope,
        user.locale,
        address=get_client_address(request),
        session_id=login.id,
        csrf=login.csrf_token,
        proved_at=login.proved_at,
    )


def _authenticate_token(session: Session, request: Request, token: str) -> Actor:
    if not token.startswith(API_PREFIX):
        raise UnauthenticatedError("auth.token_unknown")
    row = find_api_token(session, hash_token(token))
    if row is None:
        raise UnauthenticatedError("auth.token_unknown")
    stored, user, seen_at = row
    if stored.expires_at is not None and stored.expires_at <= utc_now():
        raise UnauthenticatedError("auth.token_expired")
    if seen_at is not None and utc_now() - seen_at > TOKEN_SUSPENSION_AFTER:
        raise UnauthenticatedError("auth.token_rests", days=TOKEN_SUSPENSION_AFTER.days)
    purpose = PURPOSES[stored.purpose] if stored.purpose is not None else None
    if purpose is not None and not purpose.allows_path(request.url.path):
        raise ForbiddenError("auth.token_purpose", action=f"{request.method} {request.url.path}"[:200])
    if stored.last_used_at is None or utc_now() - stored.last_used_at > LAST_SEEN_INTERVAL:
        session.execute(
            update(ApiToken).where(ApiToken.id == stored.id).values(last_used_at=utc_now()),
            execution_options={"synchronize_session": False},
        )
    return Actor(
        user.id,
        user.name,
        lower_role(user.role, stored.role),
        user.label_scope,
        user.locale,
        address=get_client_address(request),
        token_id=stored.id,
        only=purpose.actions if purpose is not None else None,
    )

"""The actor of a request, out of its session cookie or bearer token.

With a cookie, every unsafe method needs the session's CSRF token in a header, and an Origin that is ours: a
foreign page can send the cookie, but can neither read the token nor forge the Origin.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor, lower
from culprit.auth.policy import PURPOSES
from culprit.auth.tokens import API_PREFIX, token_hash
from culprit.config import Settings
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden, Unauthenticated
from culprit.models import ApiToken, LoginSession, UserAccount, UserIdentity

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
SEEN_EVERY = timedelta(minutes=1)
#: Whoever signs in at an identity provider has to be seen there: tokens of those who are gone end by themselves.
TOKENS_REST_AFTER = timedelta(days=30)


def cookie_name(settings: Settings) -> str:
    """Over TLS the name binds the cookie to this very host, so that no neighbour can plant one."""
    return "__Host-culprit_session" if settings.cookies_secure else "culprit_session"


def give_cookie(response: Response, settings: Settings, token: str, hours: int) -> None:
    """Put a session into the browser."""
    response.set_cookie(
        cookie_name(settings),
        token,
        max_age=hours * 3600,
        httponly=True,
        samesite="lax",
        secure=settings.cookies_secure,
        path="/",
    )


def client_address(request: Request) -> str | None:
    """Where the request came from, as the server saw it."""
    return request.client.host if request.client else None


def same_origin(request: Request) -> None:
    """Refuse a request that a browser says another site has made."""
    origin = request.headers.get("origin")
    if origin is None:
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            raise Forbidden("auth.foreign_origin")
        return
    settings: Settings = request.app.state.settings
    ours = {request.headers.get("host", ""), urlsplit(settings.public_url).netloc}
    try:
        theirs = urlsplit(origin).netloc
    except ValueError:
        theirs = ""
    if not theirs or theirs not in ours:
        raise Forbidden("auth.foreign_origin")


def current_actor(request: Request, session: Db) -> Actor:
    """Who is asking; raises Unauthenticated, or Forbidden for a forged request."""
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("auth.needed")
        return _by_token(session, request, token.strip())
    cookie = request.cookies.get(cookie_name(request.app.state.settings))
    if not cookie:
        raise Unauthenticated("auth.needed")
    return _by_session(session, request, cookie)


CurrentActor = Annotated[Actor, Depends(current_actor, scope="function")]


def _by_session(session: Session, request: Request, cookie: str) -> Actor:
    row = session.execute(
        select(LoginSession, UserAccount)
        .join(UserAccount, UserAccount.id == LoginSession.user_id)
        .where(LoginSession.token_hash == token_hash(cookie), LoginSession.expires_at > now())
        .where(UserAccount.disabled_at.is_(None))
    ).first()
    if row is None:
        raise Unauthenticated("auth.session_over")
    login, user = row
    if request.method not in SAFE:
        same_origin(request)
        sent = request.headers.get("x-csrf-token", "").encode("utf-8", "replace")
        if not hmac.compare_digest(sent, login.csrf_token.encode()):
            raise Forbidden("auth.csrf")
    if now() - login.last_seen_at > SEEN_EVERY:
        session.execute(
            update(LoginSession).where(LoginSession.id == login.id).values(last_seen_at=now()),
            execution_options={"synchronize_session": False},
        )
    return Actor(
        user.id,
        user.name,
        user.role,
        user.label_scope,
        user.locale,
        address=client_address(request),
        session_id=login.id,
        csrf=login.csrf_token,
        proved_at=login.proved_at,
    )


def _by_token(session: Session, request: Request, token: str) -> Actor:
    if not token.startswith(API_PREFIX):
        raise Unauthenticated("auth.token_unknown")
    row = session.execute(
        select(ApiToken, UserAccount, UserIdentity.seen_at)
        .join(UserAccount, UserAccount.id == ApiToken.user_id)
        .outerjoin(UserIdentity, UserIdentity.user_id == UserAccount.id)
        .where(ApiToken.token_hash == token_hash(token), ApiToken.revoked_at.is_(None))
        .where(UserAccount.disabled_at.is_(None))
    ).first()
    if row is None:
        raise Unauthenticated("auth.token_unknown")
    stored, user, seen_at = row
    if stored.expires_at is not None and stored.expires_at <= now():
        raise Unauthenticated("auth.token_expired")
    if seen_at is not None and now() - seen_at > TOKENS_REST_AFTER:
        raise Unauthenticated("auth.token_rests", days=TOKENS_REST_AFTER.days)
    purpose = PURPOSES[stored.purpose] if stored.purpose is not None else None
    if purpose is not None and not purpose.reaches(request.url.path):
        raise Forbidden("auth.token_purpose", action=f"{request.method} {request.url.path}"[:200])
    if stored.last_used_at is None or now() - stored.last_used_at > SEEN_EVERY:
        session.execute(
            update(ApiToken).where(ApiToken.id == stored.id).values(last_used_at=now()),
            execution_options={"synchronize_session": False},
        )
    return Actor(
        user.id,
        user.name,
        lower(user.role, stored.role),
        user.label_scope,
        user.locale,
        address=client_address(request),
        token_id=stored.id,
        only=purpose.actions if purpose is not None else None,
    )

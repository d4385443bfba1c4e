"""Sessions, oneself, accounts, tokens and the audit log over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import accounts, audit, sessions
from culprit.auth.actor import Actor
from culprit.auth.dependencies import CurrentActor, client_address, cookie_name, give_cookie, same_origin
from culprit.auth.idempotency import Once
from culprit.auth.policy import may, policy
from culprit.auth.proof import ProvenActor
from culprit.auth.schemas import (
    AuditChain,
    AuditPage,
    AuditRead,
    LinkLogin,
    Login,
    Me,
    MeUpdate,
    ProofRequest,
    TokenCreate,
    TokenRead,
    UserCreate,
    UserRead,
    UserUpdate,
)
from culprit.config import Settings
from culprit.infra.db import Db
from culprit.kit.clock import now
from culprit.kit.cursor import Cursor, Limit, Page, page
from culprit.kit.errors import Unauthenticated
from culprit.kit.version import VERSION
from culprit.models import ApiToken, AuditEntry, UserAccount

router = APIRouter()
THIS_HOST = "this-host"  # a file in CULPRIT_HOME with the id of the host that `up` enrolled


def this_host(settings: Settings) -> UUID | None:
    """The id of the machine that runs the platform, where `up` has enrolled it."""
    path: Path = settings.home / THIS_HOST
    try:
        return UUID(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None


def read_me(request: Request, db: Session, actor: Actor, user: UserAccount) -> Me:
    """The answer about oneself."""
    elsewhere = accounts.linked(db, user.id) is not None
    return Me(
        id=actor.id,
        name=actor.name,
        role=actor.role,
        locale=user.locale,
        label_scope=user.label_scope,
        csrf=actor.csrf,
        may=may(actor),
        version=VERSION,
        needs_password=user.password_hash is None and not elsewhere,
        signs_in_elsewhere=elsewhere,
        this_host=this_host(request.app.state.settings),
    )


def read_user(user: UserAccount, link: str | None = None, *, elsewhere: bool = False) -> UserRead:
    """An account as it is sent."""
    return UserRead(
        id=user.id,
        name=user.name,
        role=user.role,
        label_scope=user.label_scope,
        locale=user.locale,
        has_password=user.password_hash is not None,
        signs_in_elsewhere=elsewhere,
        disabled_at=user.disabled_at,
        created_at=user.created_at,
        login_link=link,
    )


def _enter(request: Request, response: Response, db: Db, user: UserAccount) -> Me:
    settings: Settings = request.app.state.settings
    token, actor = sessions.open_session(
        db, user, settings.session_hours, client_address(request) or "unknown", proved_at=now()
    )
    give_cookie(response, settings, token, settings.session_hours)
    return read_me(request, db, actor, user)


@router.post("/session", tags=["session"], summary="Log in")
def log_in(body: Login, request: Request, response: Response, db: Db) -> Me:
    """Answers with a session cookie. At most ten failures per minute for an account from one address."""
    same_origin(request)
    factory = request.app.state.database.sessions
    address = client_address(request) or "unknown"
    attempt = sessions.count_attempt(factory, body.name, address)
    try:
        user = sessions.log_in(db, attempt, body.name, body.password.get_secret_value())
    except Unauthenticated:
        sessions.note_failure(factory, body.name, address)
        raise
    return _enter(request, response, db, user)


@router.post("/session/link", tags=["session"], summary="Log in with a one-time link")
def log_in_by_link(body: LinkLogin, request: Request, response: Response, db: Db) -> Me:
    """Uses the link up."""
    same_origin(request)
    address = client_address(request) or "unknown"
    attempt = sessions.count_attempt(request.app.state.database.sessions, "link", address)
    user = sessions.log_in_by_link(db, body.token.get_secret_value())
    sessions.forget_attempt(db, attempt)
    return _enter(request, response, db, user)


@router.post("/session/proof", status_code=204, tags=["session"], summary="Prove again who I am")
def prove_session(body: ProofRequest, request: Request, db: Db, actor: CurrentActor) -> None:
    """Renews the proof of this session with the account's password, for the routes that need a recent one."""
    user = db.get_one(UserAccount, actor.id)
    factory = request.app.state.database.sessions
    sessions.prove_by_password(factory, db, actor, user, body.password.get_secret_value())


@router.delete("/session", status_code=204, tags=["session"], summary="Log out")
def log_out(request: Request, response: Response, db: Db, actor: CurrentActor) -> None:
    """Ends this session; without a session (API token) nothing happens."""
    if actor.session_id is not None:
        sessions.close_session(db, actor)
    settings: Settings = request.app.state.settings
    response.delete_cookie(
        cookie_name(settings), path="/", secure=settings.cookies_secure, httponly=True, samesite="lax"
    )


@router.get("/me", tags=["session"], summary="Who am I, and what may I")
def get_me(request: Request, db: Db, actor: CurrentActor) -> Me:
    """Oneself."""
    return read_me(request, db, actor, db.get_one(UserAccount, actor.id))


@router.patch("/me", tags=["session"], summary="Change my language or password")
def patch_me(body: MeUpdate, request: Request, db: Db, actor: CurrentActor) -> Me:
    """A new password needs a session and the current password, and ends the other sessions."""
    user = db.get_one(UserAccount, actor.id)
    if body.locale is not None:
        user.locale = body.locale
    if body.password is not None:
        current = body.current_password.get_secret_value() if body.current_password else None
        factory = request.app.state.database.sessions
        sessions.change_password(factory, db, actor, user, body.password.get_secret_value(), current)
    return read_me(request, db, actor, user)


@router.get("/users", tags=["accounts"], summary="Accounts")
def list_users(db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None) -> Page[UserRead]:
    """All accounts, newest first."""
    policy(actor, "user.manage")

    def read(rows: Sequence[UserAccount]) -> list[UserRead]:
        away = accounts.linked_among(db, [row.id for row in rows])
        return [read_user(row, elsewhere=row.id in away) for row in rows]

    return page(db, select(UserAccount), UserAccount.id, limit=limit, cursor=cursor, read=read)


@router.post("/users", status_code=201, response_model=UserRead, tags=["accounts"], summary="Make an account")
def create_user(
    body: UserCreate, request: Request, db: Db, actor: ProvenActor, once: Once
) -> UserRead | JSONResponse:
    """Without a password the answer holds a login link, once."""

    def make() -> UserRead:
        user, link = accounts.create_user(db, actor, body)
        return read_user(user, _link(request, link))

    return once(body, make, secret=True)


@router.patch("/users/{user_id}", tags=["accounts"], summary="Change an account")
def update_user(user_id: UUID, body: UserUpdate, request: Request, db: Db, actor: ProvenActor) -> UserRead:
    """Role, scope, disabled, or a new login link."""
    user, link = accounts.update_user(db, actor, user_id, body)
    return read_user(user, _link(request, link), elsewhere=accounts.linked(db, user.id) is not None)


def _link(request: Request, token: str | None) -> str | None:
    return accounts.link_url(request.app.state.settings.public_url, token) if token else None


def read_token(row: ApiToken, text: str | None = None) -> TokenRead:
    """A token as it is sent."""
    return TokenRead(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        role=row.role,
        purpose=row.purpose,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        created_at=row.created_at,
        token=text,
    )


@router.get("/tokens", tags=["accounts"], summary="My API tokens")
def list_tokens(db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None) -> Page[TokenRead]:
    """One's own, without those that were revoked."""
    policy(actor, "token.own")
    own = select(ApiToken).where(ApiToken.user_id == actor.id, ApiToken.revoked_at.is_(None))

    def read(rows: Sequence[ApiToken]) -> list[TokenRead]:
        return [read_token(row) for row in rows]

    return page(db, own, ApiToken.id, limit=limit, cursor=cursor, read=read)


@router.post(
    "/tokens", status_code=201, response_model=TokenRead, tags=["accounts"], summary="Make an API token"
)
def create_token(body: TokenCreate, db: Db, actor: ProvenActor, once: Once) -> TokenRead | JSONResponse:
    """The text of the token is in this answer and nowhere else. A token cannot create another one."""

    def make() -> TokenRead:
        row, text = accounts.create_token(db, actor, body)
        return read_token(row, text)

    return once(body, make, secret=True)


@router.delete("/tokens/{token_id}", status_code=204, tags=["accounts"], summary="Revoke an API token")
def revoke_token(token_id: UUID, db: Db, actor: ProvenActor) -> None:
    """It stops working at once."""
    accounts.revoke_token(db, actor, token_id)


@router.get("/audit", tags=["audit"], summary="What was done, by whom")
def list_audit(db: Db, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None) -> AuditPage:
    """Newest first."""
    policy(actor, "audit.read")

    def read(rows: Sequence[AuditEntry]) -> list[AuditRead]:
        return [
            AuditRead(
                id=row.id,
                seq=row.seq,
                at=row.at,
                actor_id=row.actor_id,
                actor_name=row.actor_name,
                action=row.action,
                resource_kind=row.resource_kind,
                resource_id=row.resource_id,
                detail=row.detail,
                address=row.address,
                hash=row.hash.hex(),
            )
            for row in rows
        ]

    found = page(db, select(AuditEntry), AuditEntry.seq, limit=limit, cursor=cursor, read=read, kind=int)
    return AuditPage(items=found.items, next=found.next, head=audit.head(db).hex())


@router.get("/audit/chain", tags=["audit"], summary="Check the audit log's hash chain")
def check_audit(db: Db, actor: CurrentActor) -> AuditChain:
    """Walks all entries."""
    policy(actor, "audit.read")
    verdict = audit.verify(db)
    return AuditChain(entries=verdict.entries, head=verdict.head, broken_at=verdict.broken_at)

"""HTTP endpoints of sessions, the own account, accounts, tokens and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session

from culprit import VERSION
from culprit.accounts import accounts, audit, sessions
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, list_allowed_actions
from culprit.accounts.dependencies import (
    CurrentActor,
    get_client_address,
    get_cookie_name,
    require_same_origin,
    set_session_cookie,
)
from culprit.accounts.idempotency import Once
from culprit.accounts.proof import ProvenActor
from culprit.accounts.queries.audit_log import select_entries
from culprit.accounts.queries.users import find_identity, list_linked_ids, select_users, select_valid_tokens
from culprit.accounts.schemas import (
    AuditChainResponse,
    AuditEntryResponse,
    AuditPageResponse,
    LinkLoginRequest,
    LoginRequest,
    MeResponse,
    MeUpdate,
    ProofRequest,
    TokenCreate,
    TokenResponse,
    UserCreate,
    UserResponse,
    UserUpdate,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.request_dependencies import DbDep
from culprit.infra.settings import Settings
from culprit.web.errors import UnauthenticatedError
from culprit.web.http.pagination import Cursor, Limit, Page, build_page

router = APIRouter()
LOCAL_HOST_FILE = "this-host"  # a file in CULPRIT_HOME with the id of the host that `up` added


def get_local_host_id(settings: Settings) -> UUID | None:
    """Return the ID of the host that runs the platform, if `up` added it."""
    path: Path = settings.home / LOCAL_HOST_FILE
    try:
        return UUID(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None


def build_me_response(request: Request, db: Session, actor: Actor, user: UserAccount) -> MeResponse:
    """Build the response about the own account."""
    elsewhere = find_identity(db, user.id) is not None
    return MeResponse(
        id=actor.id,
        name=actor.name,
        role=actor.role,
        locale=user.locale,
        label_scope=user.label_scope,
        csrf=actor.csrf,
        permissions=list_allowed_actions(actor),
        version=VERSION,
        needs_password=user.password_hash is None and not elsewhere,
        uses_single_sign_on=elsewhere,
        this_host=get_local_host_id(request.app.state.settings),
    )


def build_user_response(
    user: UserAccount, link: str | None = None, *, elsewhere: bool = False
) -> UserResponse:
    """Build the response about an account."""
    return UserResponse(
        id=user.id,
        name=user.name,
        role=user.role,
        label_scope=user.label_scope,
        locale=user.locale,
        has_password=user.password_hash is not None,
        uses_single_sign_on=elsewhere,
        disabled_at=user.disabled_at,
        created_at=user.created_at,
        login_link=link,
    )


def _start_session(request: Request, response: Response, db: DbDep, user: UserAccount) -> MeResponse:
    settings: Settings = request.app.state.settings
    token, actor = sessions.open_session(
        db, user, settings.session_hours, get_client_address(request) or "unknown", proved_at=utc_now()
    )
    set_session_cookie(response, settings, token, settings.session_hours)
    return build_me_response(request, db, actor, user)


@router.post("/session", tags=["session"], summary="Log in")
def log_in(body: LoginRequest, request: Request, response: Response, db: DbDep) -> MeResponse:
    """Log in and set a session cookie. Ten failures per minute and account from one address are the limit."""
    require_same_origin(request)
    factory = request.app.state.database.sessions
    address = get_client_address(request) or "unknown"
    attempt = sessions.record_attempt(factory, body.name, address)
    try:
        user = sessions.log_in(db, attempt, body.name, body.password.get_secret_value())
    except UnauthenticatedError:
        sessions.record_failure(factory, body.name, address)
        raise
    return _start_session(request, response, db, user)


@router.post("/session/link", tags=["session"], summary="Log in with a one-time link")
def log_in_by_link(body: LinkLoginRequest, request: Request, response: Response, db: DbDep) -> MeResponse:
    """Log in with a one-time link."""
    require_same_origin(request)
    address = get_client_address(request) or "unknown"
    attempt = sessions.record_attempt(request.app.state.database.sessions, "link", address)
    user = sessions.log_in_by_link(db, body.token.get_secret_value())
    sessions.delete_attempt(db, attempt)
    return _start_session(request, response, db, user)


@router.post("/session/proof", status_code=204, tags=["session"], summary="Prove again who I am")
def prove_session(body: ProofRequest, request: Request, db: DbDep, actor: CurrentActor) -> None:
    """Reauthenticate this session with the password, for routes that require a recent proof."""
    user = db.get_one(UserAccount, actor.id)
    factory = request.app.state.database.sessions
    sessions.prove_by_password(factory, db, actor, user, body.password.get_secret_value())


@router.delete("/session", status_code=204, tags=["session"], summary="Log out")
def log_out(request: Request, response: Response, db: DbDep, actor: CurrentActor) -> None:
    """End this session; with an API token, nothing happens."""
    if actor.session_id is not None:
        sessions.close_session(db, actor)
    settings: Settings = request.app.state.settings
    response.delete_cookie(
        get_cookie_name(settings), path="/", secure=settings.cookies_secure, httponly=True, samesite="lax"
    )


@router.get("/me", tags=["session"], summary="Who am I, and what may I")
def get_me(request: Request, db: DbDep, actor: CurrentActor) -> MeResponse:
    """Return the own account."""
    return build_me_response(request, db, actor, db.get_one(UserAccount, actor.id))


@router.patch("/me", tags=["session"], summary="Change my language or password")
def update_me(body: MeUpdate, request: Request, db: DbDep, actor: CurrentActor) -> MeResponse:
    """Change the own password: requires a session and the current password, and ends other sessions."""
    user = db.get_one(UserAccount, actor.id)
    if body.locale is not None:
        user.locale = body.locale
    if body.password is not None:
        current = body.current_password.get_secret_value() if body.current_password else None
        factory = request.app.state.database.sessions
        sessions.change_password(factory, db, actor, user, body.password.get_secret_value(), current)
    return build_me_response(request, db, actor, user)


@router.get("/users", tags=["accounts"], summary="Accounts")
def list_users(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[UserResponse]:
    """List accounts, newest first."""
    authorize(actor, "user.manage")

    def read(rows: Sequence[UserAccount]) -> list[UserResponse]:
        away = list_linked_ids(db, [row.id for row in rows])
        return [build_user_response(row, elsewhere=row.id in away) for row in rows]

    return build_page(db, select_users(), UserAccount.id, limit=limit, cursor=cursor, read=read)


@router.post(
    "/users", status_code=201, response_model=UserResponse, tags=["accounts"], summary="Make an account"
)
def create_user(
    body: UserCreate, request: Request, db: DbDep, actor: ProvenActor, once: Once
) -> UserResponse | JSONResponse:
    """Create an account. Without a password, only this response contains a login link."""

    def make() -> UserResponse:
        user, link = accounts.create_user(db, actor, body)
        return build_user_response(user, _build_link(request, link))

    return once(body, make, secret=True)


@router.patch("/users/{user_id}", tags=["accounts"], summary="Change an account")
def update_user(
    user_id: UUID, body: UserUpdate, request: Request, db: DbDep, actor: ProvenActor
) -> UserResponse:
    """Change role, scope or state, or create a login link."""
    user, link = accounts.update_user(db, actor, user_id, body)
    return build_user_response(
        user, _build_link(request, link), elsewhere=find_identity(db, user.id) is not None
    )


def _build_link(request: Request, token: str | None) -> str | None:
    return accounts.build_login_url(request.app.state.settings.public_url, token) if token else None


def build_token_response(row: ApiToken, text: str | None = None) -> TokenResponse:
    """Build the response about a token."""
    return TokenResponse(
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
def list_tokens(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> Page[TokenResponse]:
    """List own tokens that are not revoked."""
    authorize(actor, "token.own")
    own = select_valid_tokens(actor.id)

    def read(rows: Sequence[ApiToken]) -> list[TokenResponse]:
        return [build_token_response(row) for row in rows]

    return build_page(db, own, ApiToken.id, limit=limit, cursor=cursor, read=read)


@router.post(
    "/tokens", status_code=201, response_model=TokenResponse, tags=["accounts"], summary="Make an API token"
)
def create_token(
    body: TokenCreate, db: DbDep, actor: ProvenActor, once: Once
) -> TokenResponse | JSONResponse:
    """Create a token; only this response contains its text. A token cannot create another one."""

    def make() -> TokenResponse:
        row, text = accounts.create_token(db, actor, body)
        return build_token_response(row, text)

    return once(body, make, secret=True)


@router.delete("/tokens/{token_id}", status_code=204, tags=["accounts"], summary="Revoke an API token")
def revoke_token(token_id: UUID, db: DbDep, actor: ProvenActor) -> None:
    """Revoke a token immediately."""
    accounts.revoke_token(db, actor, token_id)


@router.get("/audit", tags=["audit"], summary="What was done, by whom")
def list_audit(
    db: DbDep, actor: CurrentActor, limit: Limit = 100, cursor: Cursor = None
) -> AuditPageResponse:
    """List audit entries, newest first."""
    authorize(actor, "audit.read")

    def read(rows: Sequence[AuditEntry]) -> list[AuditEntryResponse]:
        return [
            AuditEntryResponse(
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

    result = build_page(db, select_entries(), AuditEntry.seq, limit=limit, cursor=cursor, read=read, kind=int)
    return AuditPageResponse(items=result.items, next=result.next, head=audit.get_head(db).hex())


@router.get("/audit/chain", tags=["audit"], summary="Check the audit log's hash chain")
def check_audit(db: DbDep, actor: CurrentActor) -> AuditChainResponse:
    """Verify the chain of all audit entries."""
    authorize(actor, "audit.read")
    verdict = audit.verify_chain(db)
    return AuditChainResponse(entries=verdict.entries, head=verdict.head, broken_at=verdict.broken_at)

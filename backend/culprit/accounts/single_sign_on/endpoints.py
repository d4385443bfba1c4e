"""HTTP endpoints of single sign-on: the sign-in flow and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from culprit.accounts import sessions
from culprit.accounts.authorization import authorize
from culprit.accounts.dependencies import (
    CurrentActor,
    get_client_address,
    require_same_origin,
    set_session_cookie,
)
from culprit.accounts.proof import ProvenActor, require_session
from culprit.accounts.queries.users import find_identity
from culprit.accounts.single_sign_on import login, queries, service
from culprit.accounts.single_sign_on.provider import ProviderCache, build_authorize_url
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.accounts.single_sign_on.schemas import (
    ProviderCheckResponse,
    ProviderStateResponse,
    ProviderUpdate,
    SignInMethodsResponse,
    SignInRequest,
    SignInResponse,
    SignOutResponse,
)
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import release_and_expire, unit_of_work
from culprit.infra.models.accounts.login_flow import LoginFlow
from culprit.infra.request_dependencies import DbDep
from culprit.infra.settings import Settings
from culprit.infra.vault import SecretUnreadableError
from culprit.web.errors import NotFoundError, UnavailableError

router = APIRouter()
Text = Annotated[str | None, Query(max_length=4000)]


@dataclass(frozen=True, slots=True)
class SignInResult:
    """Where the browser is redirected; `token` is the cookie of a new session, for `hours`."""

    location: str
    token: str | None = None
    hours: int = 0


def get_flow_cookie_name(settings: Settings) -> str:
    """Return the name of the cookie of an unfinished flow; over TLS it is bound to this host."""
    return "__Host-culprit_sign_in" if settings.cookies_secure else "culprit_sign_in"


@router.get("/session/methods", tags=["session"], summary="How people may sign in")
def list_sign_in_methods(db: DbDep) -> SignInMethodsResponse:
    """Return the name of the identity provider for the login page, if there is one."""
    row = queries.find_provider(db)
    return SignInMethodsResponse(provider=row.name if row is not None and row.enabled else None)


@router.post("/session/oidc", tags=["session"], summary="Leave for the identity provider")
def start_sign_in(body: SignInRequest, request: Request, response: Response) -> SignInResponse:
    """Start a sign-in: return the provider's address, and set a cookie that binds the flow to this browser."""
    require_same_origin(request)
    return _start_flow(request, response, body.next, None)


@router.post(
    "/session/oidc/proof", tags=["session"], summary="Prove again who I am, at the identity provider"
)
def start_proof(
    body: SignInRequest, request: Request, response: Response, actor: CurrentActor
) -> SignInResponse:
    """Start a reauthentication: the provider must ask the user again; the callback renews the session's proof."""
    require_session(actor)
    return _start_flow(request, response, body.next, actor.session_id)


def _start_flow(request: Request, response: Response, next_path: str, proves: UUID | None) -> SignInResponse:
    settings: Settings = request.app.state.settings
    database: Database = request.app.state.database
    memory: ProviderCache = request.app.state.single_sign_on
    attempt = sessions.record_attempt(database.sessions, "oidc", get_client_address(request) or "unknown")
    try:
        with unit_of_work(database.sessions) as session:
            row = queries.find_provider(session)
            if row is None or not row.enabled:
                raise NotFoundError("sign_in.off")
            client = service.build_client(session, row)
        endpoints = memory.get_metadata(client).endpoints
    except (SignInError, SecretUnreadableError) as error:
        why = error.why if isinstance(error, SignInError) else "off"
        raise UnavailableError(f"sign_in.{why}") from None
    with unit_of_work(database.sessions) as session:
        leaving = login.start_sign_in(session, row, next_path, attempt, proves)
    response.set_cookie(
        get_flow_cookie_name(settings),
        leaving.browser,
        max_age=int(login.FLOW_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",  # the callback is a navigation from another site
        secure=settings.cookies_secure,
        path="/",
    )
    url = build_authorize_url(
        endpoints,
        client.client_id,
        service.get_redirect_uri(),
        row.scopes,
        leaving.state,
        leaving.nonce,
        leaving.challenge,
        reauthenticate=proves is not None,
    )
    return SignInResponse(url=url)


@router.get(
    "/session/oidc/callback",
    status_code=303,
    response_class=RedirectResponse,
    tags=["session"],
    summary="Come back from the identity provider",
)
def handle_callback(
    request: Request, state: Text = None, code: Text = None, error: Text = None, iss: Text = None
) -> Response:
    """Finish a flow: redirect to the requested page with a session, or to the login page with an error."""
    settings: Settings = request.app.state.settings
    address = get_client_address(request) or "unknown"
    database: Database = request.app.state.database
    try:
        arrived = _complete_flow(request, address, state, code, error, iss)
    except (SignInError, SecretUnreadableError) as stopped:
        refused = (
            stopped
            if isinstance(stopped, SignInError)
            else SignInError("off", "the client's secret does not open")
        )
        with unit_of_work(database.sessions) as session:
            login.record_refusal(session, refused, address)
        answer = RedirectResponse(f"/login?{urlencode({'refused': refused.why})}", 303)
    else:
        answer = RedirectResponse(arrived.location, 303)
        if arrived.token is not None:
            set_session_cookie(answer, settings, arrived.token, arrived.hours)
    answer.headers["Cache-Control"] = "no-store"
    answer.delete_cookie(
        get_flow_cookie_name(settings),
        path="/",
        secure=settings.cookies_secure,
        httponly=True,
        samesite="lax",
    )
    return answer


def _complete_flow(  # noqa: PLR0917 - the parameters of the answer
    request: Request, address: str, state: str | None, code: str | None, error: str | None, iss: str | None
) -> SignInResult:
    """Return the redirect and the cookie of a new session, if any. Raises SignInError."""
    settings: Settings = request.app.state.settings
    database: Database = request.app.state.database
    cookie = request.cookies.get(get_flow_cookie_name(settings))
    with unit_of_work(database.sessions) as session:
        flow = login.consume_flow(session, state) if state else None
    if flow is None or cookie is None or not login.is_same_browser(flow, cookie):
        raise SignInError("state")
    if error is not None:
        raise SignInError("denied", error[:80] if error.isprintable() else "")
    if not code:
        raise SignInError("code", "no code")
    with unit_of_work(database.sessions) as session:
        row = queries.find_provider(session)
        if (
            row is None
            or not row.enabled
            or (row.id, row.version) != (flow.provider_id, flow.provider_version)
        ):
            raise SignInError("over")
        client = service.build_client(session, row)
    memory: ProviderCache = request.app.state.single_sign_on
    names_issuer = memory.get_metadata(client).endpoints.names_issuer
    if iss != client.issuer and (iss is not None or names_issuer):
        raise SignInError("issuer", "the answer is from another issuer")  # RFC 9207
    claims = login.request_claims(memory, client, code, cookie, service.get_redirect_uri(), row.groups_claim)
    return _apply_claims(database, settings, flow, claims, address)


def _apply_claims(
    database: Database, settings: Settings, flow: LoginFlow, claims: dict[str, Any], address: str
) -> SignInResult:
    with unit_of_work(database.sessions) as session:
        row = queries.find_provider(session, lock=True)
        if (
            row is None
            or not row.enabled
            or (row.id, row.version) != (flow.provider_id, flow.provider_version)
        ):
            raise SignInError("over")
        if flow.session_id is not None:
            refused = login.renew_session_proof(session, row, flow, claims, address)
            if refused is None:
                sessions.delete_attempt(session, flow.attempt_id)
                return SignInResult(flow.next)
        else:
            user, refused = login.finish_sign_in(session, row, claims, address)
            if user is not None:
                sessions.delete_attempt(session, flow.attempt_id)
                hours = min(settings.session_hours, row.session_hours)
                # A provider may not ask the user again; only the time that it states is a proof.
                proved_at = login.get_authenticated_at(claims)
                token, _ = sessions.open_session(session, user, hours, address, proved_at=proved_at)
                return SignInResult(flow.next, token, hours)
    assert refused is not None
    raise refused


@router.get("/session/oidc/end", tags=["session"], summary="Where the session at the provider ends")
def get_logout_url(request: Request, db: DbDep, actor: CurrentActor) -> SignOutResponse:
    """Return where the browser goes after logout, for users of the provider; otherwise null."""
    row = queries.find_provider(db)
    if row is None or not row.enabled or find_identity(db, actor.id) is None:
        return SignOutResponse(url=None)
    memory: ProviderCache = request.app.state.single_sign_on
    logout_url = memory.find_logout_url(row.issuer)
    if logout_url is None:
        return SignOutResponse(url=None)
    back = request.app.state.settings.public_url.rstrip("/") + "/login"
    requested = urlencode({"client_id": row.client_id, "post_logout_redirect_uri": back})
    return SignOutResponse(url=f"{logout_url}{'&' if '?' in logout_url else '?'}{requested}")


@router.get("/oidc-provider", tags=["accounts"], summary="The identity provider")
def get_provider(db: DbDep, actor: CurrentActor) -> ProviderStateResponse:
    """Return the settings without the secret."""
    authorize(actor, "sign_in.manage")
    return service.build_state(db, queries.find_provider(db))


@router.put("/oidc-provider", tags=["accounts"], summary="Set up the identity provider")
def update_provider(
    body: ProviderUpdate, request: Request, db: DbDep, actor: ProvenActor
) -> ProviderStateResponse:
    """Change the settings. The address must be on the network allow-list, and an admin with a password must remain."""
    row = service.save_provider(db, actor, body)
    request.app.state.single_sign_on.forget()
    return service.build_state(db, row)


@router.delete("/oidc-provider", status_code=204, tags=["accounts"], summary="Forget the identity provider")
def delete_provider(request: Request, db: DbDep, actor: ProvenActor) -> None:
    """Delete the provider and end the sessions of its users."""
    service.delete_provider(db, actor)
    request.app.state.single_sign_on.forget()


@router.post("/oidc-provider/check", tags=["accounts"], summary="Try the identity provider")
def check_provider(db: DbDep, actor: CurrentActor) -> ProviderCheckResponse:
    """Read the provider's metadata; no user signs in."""
    authorize(actor, "sign_in.manage")
    row = queries.find_provider(db)
    if row is None:
        raise NotFoundError("sign_in.not_found")
    client = service.build_client(db, row)
    release_and_expire(db)
    return service.check_provider(client)

"""Signing in elsewhere over HTTP: leaving and coming back, and what an admin sets up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from culprit.auth import sessions
from culprit.auth.accounts import linked
from culprit.auth.dependencies import CurrentActor, client_address, give_cookie, same_origin
from culprit.auth.policy import policy
from culprit.auth.proof import ProvenActor, require_session
from culprit.config import Settings
from culprit.infra.db import Database, Db
from culprit.infra.secrets import SecretUnreadable
from culprit.kit.errors import NotFound, Unavailable
from culprit.kit.unit_of_work import let_go, unit_of_work
from culprit.models import LoginFlow
from culprit.signon import login, queries, service
from culprit.signon.provider import Memory, authorize_url
from culprit.signon.refusal import Refused
from culprit.signon.schemas import (
    ProviderChecked,
    ProviderIn,
    ProviderState,
    SignInPlace,
    SignInStart,
    SignInWays,
    SignOutPlace,
)

router = APIRouter()
Text = Annotated[str | None, Query(max_length=4000)]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where the browser goes after coming back; `token` is the cookie of a new session, for `hours`."""

    place: str
    token: str | None = None
    hours: int = 0


def flow_cookie(settings: Settings) -> str:
    """The cookie of somebody who is under way; over TLS bound to this very host."""
    return "__Host-culprit_signon" if settings.cookies_secure else "culprit_signon"


@router.get("/session/ways", tags=["session"], summary="How people may sign in")
def sign_in_ways(db: Db) -> SignInWays:
    """For the login page: the name of the identity provider, where there is one."""
    row = queries.provider(db)
    return SignInWays(provider=row.name if row is not None and row.enabled else None)


@router.post("/session/oidc", tags=["session"], summary="Leave for the identity provider")
def leave(body: SignInStart, request: Request, response: Response) -> SignInPlace:
    """Answers with the address to go to, and with a cookie that binds the way back to this browser."""
    same_origin(request)
    return _leave(request, response, body.next, None)


@router.post(
    "/session/oidc/proof", tags=["session"], summary="Prove again who I am, at the identity provider"
)
def leave_to_prove(
    body: SignInStart, request: Request, response: Response, actor: CurrentActor
) -> SignInPlace:
    """As for signing in. The provider is told to ask the person again; coming back renews this session's proof."""
    require_session(actor)
    return _leave(request, response, body.next, actor.session_id)


def _leave(request: Request, response: Response, wanted: str, proves: UUID | None) -> SignInPlace:
    settings: Settings = request.app.state.settings
    database: Database = request.app.state.database
    memory: Memory = request.app.state.signon
    attempt = sessions.count_attempt(database.sessions, "oidc", client_address(request) or "unknown")
    try:
        with unit_of_work(database.sessions) as session:
            row = queries.provider(session)
            if row is None or not row.enabled:
                raise NotFound("signon.off")
            client = service.client_of(session, row)
        endpoints = memory.known(client).endpoints
    except (Refused, SecretUnreadable) as error:
        why = error.why if isinstance(error, Refused) else "off"
        raise Unavailable(f"signon.{why}") from None
    with unit_of_work(database.sessions) as session:
        leaving = login.leave(session, row, wanted, attempt, proves)
    response.set_cookie(
        flow_cookie(settings),
        leaving.browser,
        max_age=int(login.VALID.total_seconds()),
        httponly=True,
        samesite="lax",  # the way back is a navigation from another site
        secure=settings.cookies_secure,
        path="/",
    )
    url = authorize_url(
        endpoints,
        client.client_id,
        service.redirect_uri(),
        row.scopes,
        leaving.state,
        leaving.nonce,
        leaving.challenge,
        anew=proves is not None,
    )
    return SignInPlace(url=url)


@router.get(
    "/session/oidc/callback",
    status_code=303,
    response_class=RedirectResponse,
    tags=["session"],
    summary="Come back from the identity provider",
)
def come_back(
    request: Request, state: Text = None, code: Text = None, error: Text = None, iss: Text = None
) -> Response:
    """To where the person wanted to go, with a session; or to the login page, which says why not."""
    settings: Settings = request.app.state.settings
    address = client_address(request) or "unknown"
    database: Database = request.app.state.database
    try:
        arrived = _arrived(request, address, state, code, error, iss)
    except (Refused, SecretUnreadable) as stopped:
        refused = (
            stopped if isinstance(stopped, Refused) else Refused("off", "the client's secret does not open")
        )
        with unit_of_work(database.sessions) as session:
            login.note_refusal(session, refused, address)
        answer = RedirectResponse(f"/login?{urlencode({'refused': refused.why})}", 303)
    else:
        answer = RedirectResponse(arrived.place, 303)
        if arrived.token is not None:
            give_cookie(answer, settings, arrived.token, arrived.hours)
    answer.headers["Cache-Control"] = "no-store"
    answer.delete_cookie(
        flow_cookie(settings), path="/", secure=settings.cookies_secure, httponly=True, samesite="lax"
    )
    return answer


def _arrived(  # noqa: PLR0917 - the parameters of the answer
    request: Request, address: str, state: str | None, code: str | None, error: str | None, iss: str | None
) -> Arrival:
    """Where to go, with the cookie of a new session where one was opened. Raises Refused."""
    settings: Settings = request.app.state.settings
    database: Database = request.app.state.database
    cookie = request.cookies.get(flow_cookie(settings))
    with unit_of_work(database.sessions) as session:
        flow = login.take(session, state) if state else None
    if flow is None or cookie is None or not login.same_browser(flow, cookie):
        raise Refused("state")
    if error is not None:
        raise Refused("denied", error[:80] if error.isprintable() else "")
    if not code:
        raise Refused("code", "no code")
    with unit_of_work(database.sessions) as session:
        row = queries.provider(session)
        if (
            row is None
            or not row.enabled
            or (row.id, row.version) != (flow.provider_id, flow.provider_version)
        ):
            raise Refused("over")
        client = service.client_of(session, row)
    memory: Memory = request.app.state.signon
    names_issuer = memory.known(client).endpoints.names_issuer
    if iss != client.issuer and (iss is not None or names_issuer):
        raise Refused("issuer", "the answer is from another issuer")  # RFC 9207
    claims = login.ask(memory, client, code, cookie, service.redirect_uri(), row.groups_claim)
    return _entered(database, settings, flow, claims, address)


def _entered(
    database: Database, settings: Settings, flow: LoginFlow, claims: dict[str, Any], address: str
) -> Arrival:
    with unit_of_work(database.sessions) as session:
        row = queries.provider(session, lock=True)
        if (
            row is None
            or not row.enabled
            or (row.id, row.version) != (flow.provider_id, flow.provider_version)
        ):
            raise Refused("over")
        if flow.session_id is not None:
            refused = login.prove(session, row, flow, claims, address)
            if refused is None:
                sessions.forget_attempt(session, flow.attempt_id)
                return Arrival(flow.next)
        else:
            user, refused = login.arrive(session, row, claims, address)
            if user is not None:
                sessions.forget_attempt(session, flow.attempt_id)
                hours = min(settings.session_hours, row.session_hours)
                # A provider may let somebody pass without asking: only the time that it states is a proof.
                proved_at = login.authenticated_at(claims)
                token, _ = sessions.open_session(session, user, hours, address, proved_at=proved_at)
                return Arrival(flow.next, token, hours)
    assert refused is not None
    raise refused


@router.get("/session/oidc/end", tags=["session"], summary="Where the session at the provider ends")
def end_elsewhere(request: Request, db: Db, actor: CurrentActor) -> SignOutPlace:
    """For people who came from the provider: where the browser goes after logging out here. Else null."""
    row = queries.provider(db)
    if row is None or not row.enabled or linked(db, actor.id) is None:
        return SignOutPlace(url=None)
    memory: Memory = request.app.state.signon
    place = memory.end_session(row.issuer)
    if place is None:
        return SignOutPlace(url=None)
    back = request.app.state.settings.public_url.rstrip("/") + "/login"
    asked = urlencode({"client_id": row.client_id, "post_logout_redirect_uri": back})
    return SignOutPlace(url=f"{place}{'&' if '?' in place else '?'}{asked}")


@router.get("/oidc-provider", tags=["accounts"], summary="The identity provider")
def get_provider(db: Db, actor: CurrentActor) -> ProviderState:
    """Its settings without the secret."""
    policy(actor, "signon.manage")
    return service.read(db, queries.provider(db))


@router.put("/oidc-provider", tags=["accounts"], summary="Set up the identity provider")
def put_provider(body: ProviderIn, request: Request, db: Db, actor: ProvenActor) -> ProviderState:
    """Its address must be on the allow-list, and an admin with a password must be left."""
    row = service.put(db, actor, body)
    request.app.state.signon.forget()
    return service.read(db, row)


@router.delete("/oidc-provider", status_code=204, tags=["accounts"], summary="Forget the identity provider")
def remove_provider(request: Request, db: Db, actor: ProvenActor) -> None:
    """Whoever came from it is logged out."""
    service.remove(db, actor)
    request.app.state.signon.forget()


@router.post("/oidc-provider/check", tags=["accounts"], summary="Try the identity provider")
def check_provider(db: Db, actor: CurrentActor) -> ProviderChecked:
    """Reads what it says about itself; nobody is signed in."""
    policy(actor, "signon.manage")
    row = queries.provider(db)
    if row is None:
        raise NotFound("signon.not_found")
    client = service.client_of(db, row)
    let_go(db)
    return service.try_out(client)

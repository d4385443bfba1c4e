"""Decisions about the identity provider: what an admin may set up, and that nobody is locked out by it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from culprit.auth import audit, sealed
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.config import settings
from culprit.infra.outgoing import OutgoingError, check, place_of
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.errors import Conflict, Invalid, NotFound
from culprit.kit.uuid7 import uuid7
from culprit.models import LoginSession, OidcProvider, UserIdentity
from culprit.signon import queries
from culprit.signon.discovery import secure
from culprit.signon.provider import Client, Memory
from culprit.signon.refusal import Refused
from culprit.signon.schemas import GroupRole, ProviderChecked, ProviderIn, ProviderRead, ProviderState

CALLBACK = "/api/v1/session/oidc/callback"


def redirect_uri() -> str:
    """The one address that the provider may send people back to."""
    return settings().public_url.rstrip("/") + CALLBACK


def client_of(session: Session, row: OidcProvider) -> Client:
    """Who we are at a provider. Raises SecretUnreadable."""
    return Client(row.issuer, row.client_id, queries.rules(session), sealed.opened(row, vault()))


def put(session: Session, actor: Actor, body: ProviderIn) -> OidcProvider:
    """Set the provider up, or change it. Raises Invalid, Conflict, Forbidden."""
    policy(actor, "signon.manage")
    row = queries.provider(session, lock=True)
    if body.version != (row.version if row else 0):
        raise Conflict("signon.changed_meanwhile")
    if not queries.local_admin(session):
        raise Conflict("signon.needs_local_admin")
    _may_dial(session, body.issuer)
    if row is None:
        row = OidcProvider(id=uuid7(), version=0)
        session.add(row)
    _set_secret(row, body)
    closes = row.version > 0 and (row.issuer != body.issuer or not body.enabled)
    for name in (
        "name",
        "issuer",
        "client_id",
        "groups_claim",
        "name_claim",
        "otherwise",
        "session_hours",
        "enabled",
    ):
        setattr(row, name, getattr(body, name))
    row.scopes = ["openid", *dict.fromkeys(one for one in body.scopes if one != "openid")]
    row.roles = [one.model_dump() for one in body.roles]
    row.version += 1
    row.updated_at = now()
    session.flush()
    if closes:
        _close_sessions(session)
    audit.record(session, actor, "signon.changed", "oidc_provider", row.id, **_told(row))
    return row


def remove(session: Session, actor: Actor) -> None:
    """Forget the provider and its secret; whoever came from it is logged out. Raises NotFound, Forbidden."""
    policy(actor, "signon.manage")
    row = queries.provider(session, lock=True)
    if row is None:
        raise NotFound("signon.not_found")
    session.delete(row)
    _close_sessions(session)
    session.flush()
    audit.record(session, actor, "signon.removed", "oidc_provider", row.id, issuer=row.issuer)


def _close_sessions(session: Session) -> None:
    session.execute(delete(LoginSession).where(LoginSession.user_id.in_(select(UserIdentity.user_id))))


def _set_secret(row: OidcProvider, body: ProviderIn) -> None:
    if body.public:
        sealed.forget(row)
    elif body.client_secret is not None:
        sealed.seal(row, body.client_secret.get_secret_value(), vault())
    elif row.ciphertext is None or row.issuer != body.issuer:
        # A secret is for the server that it was given for: it is never sent to another one.
        raise Invalid("signon.needs_secret")


def _may_dial(session: Session, issuer: str) -> None:
    try:
        place = place_of(issuer)
        check(place, queries.rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise Invalid(f"outgoing.{error.kind}", **params) from None
    if not secure(issuer):
        raise Invalid("signon.not_secure")


def try_out(client: Client) -> ProviderChecked:
    """What the provider says about itself now."""
    try:
        known = Memory().known(client)
    except Refused as refused:
        cause = refused.__cause__
        failure = (
            cause.sentence
            if isinstance(cause, OutgoingError)
            else {"key": f"signon.{refused.why}", "params": {}}
        )
        return ProviderChecked(
            ok=False, failure=failure, detail=refused.detail, algorithms=[], keys=0, end_session=False
        )
    said = known.endpoints
    return ProviderChecked(
        ok=True,
        failure=None,
        detail="",
        algorithms=list(said.algorithms),
        keys=len(known.keys),
        end_session=said.end_session is not None,
    )


def read(session: Session, row: OidcProvider | None) -> ProviderState:
    """The settings as they are sent."""
    if row is None:
        return ProviderState(provider=None, redirect_uri=redirect_uri())
    same = (
        "id", "name", "issuer", "client_id", "scopes", "groups_claim", "name_claim", "otherwise", "session_hours",
        "enabled", "version", "updated_at",
    )  # fmt: skip
    shown = ProviderRead(
        **{name: getattr(row, name) for name in same},
        has_secret=row.ciphertext is not None,
        roles=[GroupRole(**one) for one in row.roles],
        redirect_uri=redirect_uri(),
        people=queries.people(session),
    )
    return ProviderState(provider=shown, redirect_uri=redirect_uri())


def _told(row: OidcProvider) -> dict[str, Any]:
    """The settings as the audit log keeps them."""
    return {
        "issuer": row.issuer,
        "client_id": row.client_id,
        "roles": [f"{one['group']} = {one['role']}" for one in row.roles],
        "otherwise": row.otherwise,
        "enabled": row.enabled,
        "session_hours": row.session_hours,
    }

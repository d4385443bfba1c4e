"""Configure the identity provider, and prevent that all admins lose access."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from culprit.accounts import audit, sealed_columns
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.accounts.single_sign_on import queries
from culprit.accounts.single_sign_on.discovery import is_secure_url
from culprit.accounts.single_sign_on.provider import ProviderCache, ProviderClient
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.accounts.single_sign_on.schemas import (
    GroupRole,
    ProviderCheckResponse,
    ProviderResponse,
    ProviderStateResponse,
    ProviderUpdate,
)
from culprit.infra.db.clock import utc_now
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.network.http_client import OutgoingError, check_endpoint, parse_base_url
from culprit.infra.settings import get_settings
from culprit.infra.vault import get_vault
from culprit.web.errors import ConflictError, InvalidRequestError, NotFoundError

CALLBACK = "/api/v1/session/oidc/callback"


def get_redirect_uri() -> str:
    """Return the only redirect address for the provider."""
    return get_settings().public_url.rstrip("/") + CALLBACK


def build_client(session: Session, row: OidcProvider) -> ProviderClient:
    """Return the client for a provider. Raises SecretUnreadableError."""
    return ProviderClient(
        row.issuer,
        row.client_id,
        load_network_rules(session),
        sealed_columns.open_secret(row, get_vault()),
    )


def save_provider(session: Session, actor: Actor, body: ProviderUpdate) -> OidcProvider:
    """Create or change the provider. Raises InvalidRequestError, ConflictError, ForbiddenError."""
    authorize(actor, "sign_in.manage")
    row = queries.find_provider(session, lock=True)
    if body.version != (row.version if row else 0):
        raise ConflictError("sign_in.changed_meanwhile")
    if not queries.has_local_admin(session):
        raise ConflictError("sign_in.needs_local_admin")
    _require_allowed(session, body.issuer)
    if row is None:
        row = OidcProvider(id=new_uuid7(), version=0)
        session.add(row)
    _set_secret(row, body)
    closes = row.version > 0 and (row.issuer != body.issuer or not body.enabled)
    for name in (
        "name",
        "issuer",
        "client_id",
        "groups_claim",
        "name_claim",
        "default_role",
        "session_hours",
        "enabled",
    ):
        setattr(row, name, getattr(body, name))
    row.scopes = ["openid", *dict.fromkeys(scope for scope in body.scopes if scope != "openid")]
    row.roles = [role.model_dump() for role in body.roles]
    row.version += 1
    row.updated_at = utc_now()
    session.flush()
    if closes:
        _close_sessions(session)
    audit.record_action(
        session, actor, "sign_in.changed", "oidc_provider", row.id, **_build_audit_detail(row)
    )
    return row


def delete_provider(session: Session, actor: Actor) -> None:
    """Delete the provider and its secret, and end its users' sessions. Raises NotFoundError, ForbiddenError."""
    authorize(actor, "sign_in.manage")
    row = queries.find_provider(session, lock=True)
    if row is None:
        raise NotFoundError("sign_in.not_found")
    session.delete(row)
    _close_sessions(session)
    session.flush()
    audit.record_action(session, actor, "sign_in.removed", "oidc_provider", row.id, issuer=row.issuer)


def _close_sessions(session: Session) -> None:
    session.execute(delete(LoginSession).where(LoginSession.user_id.in_(queries.select_linked_ids())))


def _set_secret(row: OidcProvider, body: ProviderUpdate) -> None:
    if body.public:
        sealed_columns.clear_secret(row)
    elif body.client_secret is not None:
        sealed_columns.seal_secret(row, body.client_secret.get_secret_value(), get_vault())
    elif row.ciphertext is None or row.issuer != body.issuer:
        # A secret is valid for its server only, and is never sent to another one.
        raise InvalidRequestError("sign_in.needs_secret")


def _require_allowed(session: Session, issuer: str) -> None:
    try:
        endpoint = parse_base_url(issuer)
        check_endpoint(endpoint, load_network_rules(session))
    except OutgoingError as error:
        params: Any = error.sentence["params"]
        raise InvalidRequestError(f"outgoing.{error.kind}", **params) from None
    if not is_secure_url(issuer):
        raise InvalidRequestError("sign_in.not_secure")


def check_provider(client: ProviderClient) -> ProviderCheckResponse:
    """Return the provider's current metadata."""
    try:
        metadata = ProviderCache().get_metadata(client)
    except SignInError as refused:
        cause = refused.__cause__
        failure = (
            cause.sentence
            if isinstance(cause, OutgoingError)
            else {"key": f"sign_in.{refused.why}", "params": {}}
        )
        return ProviderCheckResponse(
            ok=False, failure=failure, detail=refused.detail, algorithms=[], keys=0, end_session=False
        )
    endpoints = metadata.endpoints
    return ProviderCheckResponse(
        ok=True,
        failure=None,
        detail="",
        algorithms=list(endpoints.algorithms),
        keys=len(metadata.keys),
        end_session=endpoints.end_session is not None,
    )


def build_state(session: Session, row: OidcProvider | None) -> ProviderStateResponse:
    """Build the response with the settings."""
    if row is None:
        return ProviderStateResponse(provider=None, redirect_uri=get_redirect_uri())
    same = (
        "id", "name", "issuer", "client_id", "scopes", "groups_claim", "name_claim", "default_role", "session_hours",
        "enabled", "version", "updated_at",
    )  # fmt: skip
    provider_response = ProviderResponse(
        **{name: getattr(row, name) for name in same},
        has_secret=row.ciphertext is not None,
        roles=[GroupRole(**role) for role in row.roles],
        redirect_uri=get_redirect_uri(),
        people=queries.count_linked_users(session),
    )
    return ProviderStateResponse(provider=provider_response, redirect_uri=get_redirect_uri())


def _build_audit_detail(row: OidcProvider) -> dict[str, Any]:
    """Return the settings as recorded in the audit log."""
    return {
        "issuer": row.issuer,
        "client_id": row.client_id,
        "roles": [f"{role['group']} = {role['role']}" for role in row.roles],
        "default_role": row.default_role,
        "enabled": row.enabled,
        "session_hours": row.session_hours,
    }

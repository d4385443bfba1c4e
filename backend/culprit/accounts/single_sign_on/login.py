"""Steps of a sign-in: redirect to the provider, callback, and mapping to an account.

The callback consumes the state in any case. State and cookie are random and independent: a stolen
address has no cookie, and a cookie alone has no address. Nonce and PKCE verifier are derived from the cookie,
so that a copy of the database contains nothing with which a code could be exchanged.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.orm import Session

from culprit.accounts import audit, sessions
from culprit.accounts.actor import build_actor, limit_role
from culprit.accounts.proof import renew_proof
from culprit.accounts.single_sign_on import queries
from culprit.accounts.single_sign_on.idtoken import check_access_token, check_claims, get_algorithm
from culprit.accounts.single_sign_on.provider import (
    ProviderCache,
    ProviderClient,
    exchange_code,
    fetch_userinfo,
)
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.accounts.single_sign_on.roles import choose_account_name, map_role, parse_groups, sanitize_next
from culprit.accounts.tokens import generate_token, hash_token
from culprit.infra.db.advisory_locks import lock_transaction
from culprit.infra.db.clock import utc_now
from culprit.infra.models.accounts.login_flow import LoginFlow
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity

FLOW_LIFETIME = timedelta(minutes=10)
#: Permitted difference between the clocks of this server and of the provider.
CLOCK_DIFFERENCE = timedelta(minutes=1)
MAX_TIME_S = 253_402_300_800  # the year 10000
LOCK = 0x4F494443
MAX_LISTED_GROUPS = 20


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """Secrets of a browser: `state` in the address, `browser` in a cookie."""

    state: str
    browser: str

    @property
    def nonce(self) -> str:
        """Return the nonce that the ID token must repeat."""
        return derive_secret(self.browser, "nonce")

    @property
    def challenge(self) -> str:
        """Return the SHA-256 of the PKCE verifier (RFC 7636)."""
        return _to_base64url(hashlib.sha256(derive_secret(self.browser, "verifier").encode()).digest())


def derive_secret(browser: str, purpose: str) -> str:
    """Derive 256 bits from the browser's cookie, for one purpose."""
    return _to_base64url(
        hmac.new(browser.encode(), b"culprit:signon:" + purpose.encode(), hashlib.sha256).digest()
    )


def _to_base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def start_sign_in(
    session: Session, row: OidcProvider, requested: str, attempt: UUID, proves: UUID | None = None
) -> SignInFlow:
    """Store a started sign-in and delete abandoned ones.

    `proves` is the session to reauthenticate, None for a new session.
    """
    at = utc_now()
    session.execute(delete(LoginFlow).where(LoginFlow.expires_at < at))
    leaving = SignInFlow(generate_token(), generate_token())
    session.add(
        LoginFlow(
            provider_id=row.id,
            provider_version=row.version,
            state_hash=hash_token(leaving.state),
            browser_hash=hash_token(leaving.browser),
            next=sanitize_next(requested),
            attempt_id=attempt,
            session_id=proves,
            expires_at=at + FLOW_LIFETIME,
        )
    )
    return leaving


def consume_flow(session: Session, state: str) -> LoginFlow | None:
    """Return the sign-in of a state and invalidate it."""
    query = (
        delete(LoginFlow)
        .where(LoginFlow.state_hash == hash_token(state), LoginFlow.expires_at > utc_now())
        .returning(LoginFlow)
    )
    return session.scalars(query).first()


def is_same_browser(flow: LoginFlow, cookie: str | None) -> bool:
    """Return whether the callback comes from the browser that started the sign-in."""
    return cookie is not None and hmac.compare_digest(flow.browser_hash, hash_token(cookie))


def request_claims(  # noqa: PLR0917 - the parameters of the callback
    memory: ProviderCache, client: ProviderClient, code: str, browser: str, redirect: str, groups_claim: str
) -> dict[str, Any]:
    """Return the user's claims, with those of userinfo if the token does not contain the groups.

    Raises SignInError.
    """
    endpoints = memory.get_metadata(client).endpoints
    tokens = exchange_code(client, endpoints, code, derive_secret(browser, "verifier"), redirect)
    claims = memory.verify_token(client, tokens.id_token)
    subject = check_claims(
        claims, client.issuer, client.client_id, derive_secret(browser, "nonce"), utc_now().timestamp()
    )
    if tokens.access_token is not None:
        check_access_token(claims, get_algorithm(tokens.id_token), tokens.access_token)
    if groups_claim not in claims and tokens.access_token is not None and endpoints.userinfo is not None:
        # Signed claims take precedence; userinfo only adds.
        claims = fetch_userinfo(client, endpoints, tokens.access_token, subject) | claims
    return claims


def finish_sign_in(
    session: Session, row: OidcProvider, claims: Mapping[str, Any], address: str
) -> tuple[UserAccount | None, SignInError | None]:
    """Return the account for these claims, or the reason why there is none. Commit in both cases."""
    lock_transaction(session, LOCK)
    groups = parse_groups(claims.get(row.groups_claim))
    role = map_role(groups, row.roles, row.default_role)
    identity = queries.lock_identity(session, row.issuer, str(claims["sub"]))
    if identity is None:
        if role is None:
            return None, SignInError("no_role", _format_groups(groups))
        return _create_account(session, row, claims, groups, role, address), None
    user = session.get_one(UserAccount, identity.user_id, with_for_update=True)
    identity.groups, identity.seen_at = groups[:MAX_LISTED_GROUPS], utc_now()
    is_disabled_by_provider = user.disabled_at is not None and identity.withdrawn_at == user.disabled_at
    if user.disabled_at is not None and not is_disabled_by_provider:
        return None, SignInError("withdrawn", user.name)
    if role is None:
        _disable_account(session, user, identity, groups, address)
        return None, SignInError("no_role", _format_groups(groups))
    _update_account(session, user, identity, role, groups, address)
    return user, None


def _create_account(  # noqa: PLR0917
    session: Session, row: OidcProvider, claims: Mapping[str, Any], groups: list[str], role: str, address: str
) -> UserAccount:
    name = choose_account_name(claims, row.name_claim, lambda item: queries.is_name_taken(session, item))
    user = UserAccount(name=name, role=role)
    session.add(user)
    session.flush()
    subject = str(claims["sub"])
    session.add(
        UserIdentity(
            user_id=user.id,
            issuer=row.issuer,
            subject=subject,
            groups=groups[:MAX_LISTED_GROUPS],
            seen_at=utc_now(),
        )
    )
    audit.record_action(
        session, None, "user.created", "user", user.id,
        name=name, role=role, issuer=row.issuer, subject=subject, groups=_format_groups(groups), address=address,
    )  # fmt: skip
    return user


def _disable_account(
    session: Session, user: UserAccount, identity: UserIdentity, groups: list[str], address: str
) -> None:
    """Disable an account without a permitted group; its sessions and API tokens end."""
    if user.disabled_at is None:
        user.disabled_at = identity.withdrawn_at = utc_now()
        sessions.close_sessions(session, user.id)
        audit.record_action(
            session, None, "user.withdrawn", "user", user.id,
            name=user.name, role=user.role, groups=_format_groups(groups), address=address,
        )  # fmt: skip


def _update_account(  # noqa: PLR0917
    session: Session, user: UserAccount, identity: UserIdentity, role: str, groups: list[str], address: str
) -> None:
    role = limit_role(role, user.label_scope)
    changed: dict[str, Any] = {}
    if user.disabled_at is not None:
        user.disabled_at = identity.withdrawn_at = None
        changed["disabled"] = False
    if user.role != role:
        changed["role"] = [user.role, role]
        user.role = role
    if changed:
        audit.record_action(
            session, None, "user.changed_by_groups", "user", user.id,
            name=user.name, groups=_format_groups(groups), address=address, **changed,
        )  # fmt: skip


def renew_session_proof(
    session: Session, row: OidcProvider, flow: LoginFlow, claims: Mapping[str, Any], address: str
) -> SignInError | None:
    """Renew the proof of the session that started `flow`, or return why not. Commit in both cases.

    The provider had to authenticate the user again. If it states the time of that (`auth_time`), this time
    counts.
    """
    open_session = session.get(LoginSession, flow.session_id)
    if open_session is None or open_session.expires_at <= utc_now():
        return SignInError("over")
    identity = queries.lock_identity(session, row.issuer, str(claims["sub"]))
    if identity is None or identity.user_id != open_session.user_id:
        return SignInError("other_person")
    signed_in_at = get_authenticated_at(claims)
    if signed_in_at is not None and signed_in_at < flow.expires_at - FLOW_LIFETIME - CLOCK_DIFFERENCE:
        return SignInError("not_fresh")
    user, refused = finish_sign_in(session, row, claims, address)
    if user is None:
        return refused
    actor = replace(build_actor(user), address=address)
    renew_proof(session, actor, open_session.id, "provider")
    return None


def get_authenticated_at(claims: Mapping[str, Any]) -> datetime | None:
    """Return when the user authenticated at the provider (`auth_time`), or None if it is not stated."""
    value = claims.get("auth_time")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < MAX_TIME_S:
        return None
    return min(datetime.fromtimestamp(value, UTC), utc_now())


def record_refusal(session: Session, refused: SignInError, address: str) -> None:
    """Record a refused sign-in."""
    audit.record_action(
        session, None, "session.refused", "user", "unknown",
        way="oidc", why=refused.why, detail=refused.detail[:300], address=address,
    )  # fmt: skip


def _format_groups(groups: list[str]) -> str:
    more = f" and {len(groups) - MAX_LISTED_GROUPS} more" if len(groups) > MAX_LISTED_GROUPS else ""
    return ", ".join(groups[:MAX_LISTED_GROUPS]) + more if groups else "no group"

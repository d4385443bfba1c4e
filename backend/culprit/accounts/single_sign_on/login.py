"""One sign-in: leaving for the provider, coming back, and who that is here.

The state is used up by coming back, whatever comes of it. State and cookie are random and independent of each other:
who has stolen an address has no cookie, and a cookie alone has no address. Nonce and PKCE verifier are derived from the
cookie, so that a copy of the database holds nothing with which a code could be exchanged.
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

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from culprit.auth import audit, sessions
from culprit.auth.actor import actor_of, role_within
from culprit.auth.proof import renew_proof
from culprit.auth.tokens import new_token, token_hash
from culprit.kit.clock import now
from culprit.models import LoginFlow, LoginSession, OidcProvider, UserAccount, UserIdentity
from culprit.signon import queries
from culprit.signon.idtoken import algorithm_of, check, check_access_token
from culprit.signon.provider import Client, Memory, exchange, userinfo
from culprit.signon.refusal import Refused
from culprit.signon.roles import account_name, groups_of, role_of, safe_next

VALID = timedelta(minutes=10)
#: The clocks of this server and of the provider may differ by this much.
CLOCK_DIFFERENCE = timedelta(minutes=1)
LATEST_S = 253_402_300_800  # the year 10000
LOCK = 0x4F494443
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a browser takes along: `state` in the address, `browser` in a cookie."""

    state: str
    browser: str

    @property
    def nonce(self) -> str:
        """What the ID token has to repeat."""
        return derived(self.browser, "nonce")

    @property
    def challenge(self) -> str:
        """The SHA-256 of the PKCE verifier (RFC 7636)."""
        return _text(hashlib.sha256(derived(self.browser, "verifier").encode()).digest())


def derived(browser: str, purpose: str) -> str:
    """256 bits out of the browser's cookie, for one purpose."""
    return _text(hmac.new(browser.encode(), b"culprit:signon:" + purpose.encode(), hashlib.sha256).digest())


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def leave(
    session: Session, row: OidcProvider, wanted: str, attempt: UUID, proves: UUID | None = None
) -> Leaving:
    """Note that somebody leaves for the provider. Those that never came back are swept.

    `proves` is the session whose person signs in again, None for a new session.
    """
    at = now()
    session.execute(delete(LoginFlow).where(LoginFlow.expires_at < at))
    leaving = Leaving(new_token(), new_token())
    session.add(
        LoginFlow(
            provider_id=row.id,
            provider_version=row.version,
            state_hash=token_hash(leaving.state),
            browser_hash=token_hash(leaving.browser),
            next=safe_next(wanted),
            attempt_id=attempt,
            session_id=proves,
            expires_at=at + VALID,
        )
    )
    return leaving


def take(session: Session, state: str) -> LoginFlow | None:
    """The sign-in of a state, which is used up by that."""
    query = (
        delete(LoginFlow)
        .where(LoginFlow.state_hash == token_hash(state), LoginFlow.expires_at > now())
        .returning(LoginFlow)
    )
    return session.scalars(query).first()


def same_browser(flow: LoginFlow, cookie: str | None) -> bool:
    """Whether the one who comes back is the one who left."""
    return cookie is not None and hmac.compare_digest(flow.browser_hash, token_hash(cookie))


def ask(  # noqa: PLR0917 - what came back, and from whom
    memory: Memory, client: Client, code: str, browser: str, redirect: str, groups_claim: str
) -> dict[str, Any]:
    """Who the provider says that is: the claims, with those of userinfo where the groups are not in the token.

    Raises Refused.
    """
    endpoints = memory.known(client).endpoints
    tokens = exchange(client, endpoints, code, derived(browser, "verifier"), redirect)
    claims = memory.verified(client, tokens.id_token)
    subject = check(claims, client.issuer, client.client_id, derived(browser, "nonce"), now().timestamp())
    if tokens.access_token is not None:
        check_access_token(claims, algorithm_of(tokens.id_token), tokens.access_token)
    if groups_claim not in claims and tokens.access_token is not None and endpoints.userinfo is not None:
        # What was signed counts: userinfo only adds.
        claims = userinfo(client, endpoints, tokens.access_token, subject) | claims
    return claims


def arrive(
    session: Session, row: OidcProvider, claims: Mapping[str, Any], address: str
) -> tuple[UserAccount | None, Refused | None]:
    """The account of these claims as its groups want it, or why there is none. Both outcomes are to be committed."""
    session.execute(select(func.pg_advisory_xact_lock(LOCK)))
    groups = groups_of(claims.get(row.groups_claim))
    role = role_of(groups, row.roles, row.otherwise)
    identity = queries.identity(session, row.issuer, str(claims["sub"]))
    if identity is None:
        if role is None:
            return None, Refused("no_role", _listed(groups))
        return _enrol(session, row, claims, groups, role, address), None
    user = session.get_one(UserAccount, identity.user_id, with_for_update=True)
    identity.groups, identity.seen_at = groups[:MOST_TOLD], now()
    ours = user.disabled_at is not None and identity.withdrawn_at == user.disabled_at
    if user.disabled_at is not None and not ours:
        return None, Refused("withdrawn", user.name)
    if role is None:
        _withdraw(session, user, identity, groups, address)
        return None, Refused("no_role", _listed(groups))
    _change(session, user, identity, role, groups, address)
    return user, None


def _enrol(  # noqa: PLR0917
    session: Session, row: OidcProvider, claims: Mapping[str, Any], groups: list[str], role: str, address: str
) -> UserAccount:
    name = account_name(claims, row.name_claim, lambda one: queries.name_taken(session, one))
    user = UserAccount(name=name, role=role)
    session.add(user)
    session.flush()
    subject = str(claims["sub"])
    session.add(
        UserIdentity(
            user_id=user.id, issuer=row.issuer, subject=subject, groups=groups[:MOST_TOLD], seen_at=now()
        )
    )
    audit.record(
        session, None, "user.created", "user", user.id,
        name=name, role=role, issuer=row.issuer, subject=subject, groups=_listed(groups), address=address,
    )  # fmt: skip
    return user


def _withdraw(
    session: Session, user: UserAccount, identity: UserIdentity, groups: list[str], address: str
) -> None:
    """No group lets this person in any more: sessions and API tokens end with the account."""
    if user.disabled_at is None:
        user.disabled_at = identity.withdrawn_at = now()
        sessions.close_sessions(session, user.id)
        audit.record(
            session, None, "user.withdrawn", "user", user.id,
            name=user.name, role=user.role, groups=_listed(groups), address=address,
        )  # fmt: skip


def _change(  # noqa: PLR0917
    session: Session, user: UserAccount, identity: UserIdentity, role: str, groups: list[str], address: str
) -> None:
    role = role_within(role, user.label_scope)
    changed: dict[str, Any] = {}
    if user.disabled_at is not None:
        user.disabled_at = identity.withdrawn_at = None
        changed["disabled"] = False
    if user.role != role:
        changed["role"] = [user.role, role]
        user.role = role
    if changed:
        audit.record(
            session, None, "user.changed_by_groups", "user", user.id,
            name=user.name, groups=_listed(groups), address=address, **changed,
        )  # fmt: skip


def prove(
    session: Session, row: OidcProvider, flow: LoginFlow, claims: Mapping[str, Any], address: str
) -> Refused | None:
    """Renew the proof of the session that `flow` began in, or return why not. Both outcomes are to be committed.

    The provider was asked to let the person sign in anew. Where it says when that was (`auth_time`), it counts.
    """
    open_session = session.get(LoginSession, flow.session_id)
    if open_session is None or open_session.expires_at <= now():
        return Refused("over")
    identity = queries.identity(session, row.issuer, str(claims["sub"]))
    if identity is None or identity.user_id != open_session.user_id:
        return Refused("other_person")
    signed_in_at = authenticated_at(claims)
    if signed_in_at is not None and signed_in_at < flow.expires_at - VALID - CLOCK_DIFFERENCE:
        return Refused("not_fresh")
    user, refused = arrive(session, row, claims, address)
    if user is None:
        return refused
    actor = replace(actor_of(user), address=address)
    renew_proof(session, actor, open_session.id, "provider")
    return None


def authenticated_at(claims: Mapping[str, Any]) -> datetime | None:
    """Return when the person signed in at the provider (`auth_time`); None where it does not say so."""
    value = claims.get("auth_time")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < LATEST_S:
        return None
    return min(datetime.fromtimestamp(value, UTC), now())


def note_refusal(session: Session, refused: Refused, address: str) -> None:
    """Somebody was not let in."""
    audit.record(
        session, None, "session.refused", "user", "unknown",
        way="oidc", why=refused.why, detail=refused.detail[:300], address=address,
    )  # fmt: skip


def _listed(groups: list[str]) -> str:
    more = f" and {len(groups) - MOST_TOLD} more" if len(groups) > MOST_TOLD else ""
    return ", ".join(groups[:MOST_TOLD]) + more if groups else "no group"

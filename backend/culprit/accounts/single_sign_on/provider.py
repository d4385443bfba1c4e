"""Talking to a provider: its documents, kept for a while, and a code for tokens.

Everything is dialled as any other server that an admin has named: the allow-list permits it or not, no redirect is
followed, bytes and time are bounded (`culprit.infra.outgoing`).
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from culprit.infra.addresses import Rule
from culprit.infra.outgoing import OutgoingError, Reply, Request, fetch, place_of
from culprit.signon.discovery import WELL_KNOWN, Endpoints, read_discovery, read_keys
from culprit.signon.idtoken import UnknownKey, verified
from culprit.signon.refusal import Refused

TOTAL_S = 8.0
LIMIT_BYTES = 512 << 10
KEPT_S = 3600.0  # a key that was taken back stops working here after an hour at most
AGAIN_S = 60.0  # tokens with made-up key ids must not make us ask all the time


@dataclass(frozen=True, slots=True)
class Client:
    """Who we are at a provider, and what may be dialled."""

    issuer: str
    client_id: str
    rules: tuple[Rule, ...]
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Known:
    """What a provider has said about itself, and when (monotonic seconds)."""

    endpoints: Endpoints
    keys: tuple[Mapping[str, Any], ...]
    read_at: float
    keys_at: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a code was exchanged for."""

    id_token: str = field(repr=False)
    access_token: str | None = field(repr=False)


class Memory:
    """What this process knows of providers. Two requests at once may both ask; the last answer stays."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: dict[str, Known] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def forget(self) -> None:
        """Read everything again the next time."""
        with self._lock:
            self._known.clear()

    def known(self, client: Client) -> Known:
        """Endpoints and keys. Raises Refused."""
        with self._lock:
            found = self._known.get(client.issuer)
        if found is not None and self._clock() - found.read_at < KEPT_S:
            return found
        at = self._clock()
        endpoints = read_discovery(_get(client, client.issuer.rstrip("/") + WELL_KNOWN), client.issuer)
        keys = tuple(read_keys(_get(client, endpoints.jwks)))
        return self._keep(Known(endpoints, keys, at, at))

    def end_session(self, issuer: str) -> str | None:
        """Where a browser ends the session there, as far as it is known without asking."""
        with self._lock:
            found = self._known.get(issuer)
        return found.endpoints.end_session if found else None

    def verified(self, client: Client, token: str) -> dict[str, Any]:
        """The claims of an ID token whose signature holds. A key that is not known is asked for once a minute."""
        known = self.known(client)
        try:
            return verified(token, known.keys, known.endpoints.algorithms)
        except UnknownKey:
            if self._clock() - known.keys_at < AGAIN_S:
                raise
        fresh = tuple(read_keys(_get(client, known.endpoints.jwks)))
        known = self._keep(replace(known, keys=fresh, keys_at=self._clock()))
        return verified(token, known.keys, known.endpoints.algorithms)

    def _keep(self, known: Known) -> Known:
        with self._lock:
            self._known[known.endpoints.issuer] = known
        return known


def authorize_url(  # noqa: PLR0917 - the parts of one address
    endpoints: Endpoints,
    client_id: str,
    redirect_uri: str,
    scopes: Sequence[str],
    state: str,
    nonce: str,
    challenge: str,
    *,
    anew: bool = False,
) -> str:
    """Where the browser is sent. With `anew` the provider shall ask the person, whoever is signed in there."""
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(scopes),
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if anew:
        asked |= {"prompt": "login", "max_age": "0"}
    joint = "&" if urlsplit(endpoints.authorize).query else "?"
    return f"{endpoints.authorize}{joint}{urlencode(asked)}"


def exchange(client: Client, endpoints: Endpoints, code: str, verifier: str, redirect_uri: str) -> Tokens:
    """The tokens of a code. Raises Refused `code` where the provider says no, `away` where it says nothing."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    if client.secret is None:
        form["client_id"] = client.client_id
    elif "client_secret_basic" in endpoints.token_auth:
        # RFC 6749 §2.3.1: both parts are form-encoded before they are joined.
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form |= {"client_id": client.client_id, "client_secret": client.secret}
    reply = _ask(client, endpoints.token, headers, urlencode(form).encode())
    found = _json(reply.body, "code")
    if reply.status != 200:
        said = found.get("error")
        raise Refused(
            "code", said[:80] if isinstance(said, str) and said.isprintable() else str(reply.status)
        )
    id_token, access_token = found.get("id_token"), found.get("access_token")
    if not isinstance(id_token, str):
        raise Refused("code", "no ID token")
    return Tokens(id_token, access_token if isinstance(access_token, str) else None)


def userinfo(client: Client, endpoints: Endpoints, access_token: str, subject: str) -> dict[str, Any]:
    """More claims about the same person. Raises Refused; `claims` where they are about somebody else."""
    assert endpoints.userinfo is not None
    if not access_token.isascii() or not access_token.isprintable():
        raise Refused("claims", "no bearer token")
    reply = _ask(client, endpoints.userinfo, {"Authorization": f"Bearer {access_token}"}, None)
    if reply.status != 200:
        raise Refused("claims", f"userinfo answers {reply.status}")
    found = _json(reply.body, "claims")
    if found.get("sub") != subject:  # OpenID Connect Core §5.3.2
        raise Refused("claims", "userinfo is about somebody else")
    return found


def _get(client: Client, url: str) -> bytes:
    reply = _ask(client, url, {}, None)
    if reply.status != 200:
        raise Refused("away", f"HTTP {reply.status}")
    return reply.body


def _ask(client: Client, url: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
    base, question, query = url.partition("?")
    try:
        target = (urlsplit(base).path or "/") + question + query
        request = Request(place_of(base), target, headers, body)
        return fetch(request, client.rules, total_s=TOTAL_S, limit=LIMIT_BYTES)
    except OutgoingError as error:
        raise Refused("away", error.kind) from error


def _json(body: bytes, why: Any) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(why, "no JSON") from None
    if not isinstance(found, dict):
        raise Refused(why, "no JSON object")
    return found

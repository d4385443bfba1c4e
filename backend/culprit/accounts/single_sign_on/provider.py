"""HTTP client of a provider: cached metadata, and the exchange of a code for tokens.

Requests follow the rules for all servers that an admin configures: limited to the network allow-list, without
redirects, with limits on bytes and time (`culprit.infra.network.http_client`).
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from culprit.accounts.single_sign_on.discovery import (
    WELL_KNOWN,
    ProviderEndpoints,
    parse_discovery,
    parse_keys,
    parse_object,
)
from culprit.accounts.single_sign_on.idtoken import UnknownKeyError, verify_signature
from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Reply, Request, parse_base_url, send_request

TOTAL_S = 8.0
LIMIT_BYTES = 512 << 10
CACHE_S = 3600.0  # a revoked key is refused after an hour at most
KEY_REFRESH_S = 60.0  # tokens with unknown key IDs must not cause frequent requests


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """The platform's client ID and secret at a provider, and the allowed networks."""

    issuer: str
    client_id: str
    rules: tuple[AddressRule, ...]
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """A provider's metadata, and when it was read (monotonic seconds)."""

    endpoints: ProviderEndpoints
    keys: tuple[Mapping[str, Any], ...]
    read_at: float
    keys_at: float


@dataclass(frozen=True, slots=True)
class ProviderTokens:
    """Tokens received for a code."""

    id_token: str = field(repr=False)
    access_token: str | None = field(repr=False)


class ProviderCache:
    """Metadata of providers, per process. Two simultaneous requests may both fetch; the last result is kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: dict[str, ProviderMetadata] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def forget(self) -> None:
        """Remove the metadata, so that it is read again."""
        with self._lock:
            self._known.clear()

    def get_metadata(self, client: ProviderClient) -> ProviderMetadata:
        """Return endpoints and keys. Raises SignInError."""
        with self._lock:
            result = self._known.get(client.issuer)
        if result is not None and self._clock() - result.read_at < CACHE_S:
            return result
        at = self._clock()
        endpoints = parse_discovery(
            _fetch_document(client, client.issuer.rstrip("/") + WELL_KNOWN), client.issuer
        )
        keys = tuple(parse_keys(_fetch_document(client, endpoints.jwks)))
        return self._store_metadata(ProviderMetadata(endpoints, keys, at, at))

    def find_logout_url(self, issuer: str) -> str | None:
        """Return the provider's logout address from the cache, or None."""
        with self._lock:
            result = self._known.get(issuer)
        return result.endpoints.end_session if result else None

    def verify_token(self, client: ProviderClient, token: str) -> dict[str, Any]:
        """Return the claims of an ID token with a valid signature. Unknown keys are fetched once a minute."""
        metadata = self.get_metadata(client)
        try:
            return verify_signature(token, metadata.keys, metadata.endpoints.algorithms)
        except UnknownKeyError:
            if self._clock() - metadata.keys_at < KEY_REFRESH_S:
                raise
        keys = tuple(parse_keys(_fetch_document(client, metadata.endpoints.jwks)))
        metadata = self._store_metadata(replace(metadata, keys=keys, keys_at=self._clock()))
        return verify_signature(token, metadata.keys, metadata.endpoints.algorithms)

    def _store_metadata(self, known: ProviderMetadata) -> ProviderMetadata:
        with self._lock:
            self._known[known.endpoints.issuer] = known
        return known


def build_authorize_url(  # noqa: PLR0917 - the parts of one address
    endpoints: ProviderEndpoints,
    client_id: str,
    redirect_uri: str,
    scopes: Sequence[str],
    state: str,
    nonce: str,
    challenge: str,
    *,
    reauthenticate: bool = False,
) -> str:
    """Return the authorization address. With `reauthenticate`, the provider must authenticate the user again."""
    requested = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(scopes),
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if reauthenticate:
        requested |= {"prompt": "login", "max_age": "0"}
    joint = "&" if urlsplit(endpoints.authorize).query else "?"
    return f"{endpoints.authorize}{joint}{urlencode(requested)}"


def exchange_code(
    client: ProviderClient, endpoints: ProviderEndpoints, code: str, verifier: str, redirect_uri: str
) -> ProviderTokens:
    """Return the tokens of a code. Raises SignInError: `code` if refused, `away` without a response."""
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
    reply = _send_request(client, endpoints.token, headers, urlencode(form).encode())
    answer = parse_object(reply.body, "code")
    if reply.status != 200:
        message = answer.get("error")
        raise SignInError(
            "code", message[:80] if isinstance(message, str) and message.isprintable() else str(reply.status)
        )
    id_token, access_token = answer.get("id_token"), answer.get("access_token")
    if not isinstance(id_token, str):
        raise SignInError("code", "no ID token")
    return ProviderTokens(id_token, access_token if isinstance(access_token, str) else None)


def fetch_userinfo(
    client: ProviderClient, endpoints: ProviderEndpoints, access_token: str, subject: str
) -> dict[str, Any]:
    """Return additional claims of the same user. Raises SignInError; `claims` for another subject."""
    assert endpoints.userinfo is not None
    if not access_token.isascii() or not access_token.isprintable():
        raise SignInError("claims", "no bearer token")
    reply = _send_request(client, endpoints.userinfo, {"Authorization": f"Bearer {access_token}"}, None)
    if reply.status != 200:
        raise SignInError("claims", f"userinfo answers {reply.status}")
    answer = parse_object(reply.body, "claims")
    if answer.get("sub") != subject:  # OpenID Connect Core §5.3.2
        raise SignInError("claims", "userinfo describes another user")
    return answer


def _fetch_document(client: ProviderClient, url: str) -> bytes:
    reply = _send_request(client, url, {}, None)
    if reply.status != 200:
        raise SignInError("away", f"HTTP {reply.status}")
    return reply.body


def _send_request(client: ProviderClient, url: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
    base, question, query = url.partition("?")
    try:
        target = (urlsplit(base).path or "/") + question + query
        request = Request(parse_base_url(base), target, headers, body)
        return send_request(request, client.rules, total_s=TOTAL_S, limit=LIMIT_BYTES)
    except OutgoingError as error:
        raise SignInError("away", error.kind) from error

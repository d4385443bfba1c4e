"""What a provider says about itself: its endpoints and its keys, checked before anything is believed.

OpenID Connect Discovery 1.0 §4, RFC 8414 and RFC 7517. Documents come from the network: sizes, numbers and types are
bounded, and what is wrong is a Refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culprit.infra.outgoing import OutgoingError, place_of
from culprit.signon.refusal import Refused

WELL_KNOWN = "/.well-known/openid-configuration"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MOST_KEYS = 100
LONGEST_URL = 2000
#: Signatures that a server without the signing key cannot make: `none` and everything symmetric are not here.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
)  # fmt: skip
SHORTEST_RSA = 341  # base64url of 2048 bits; shorter ones are within reach of others
KEY_TYPES = frozenset({"RSA", "EC", "OKP"})


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a provider does what. The first two are for the browser, the others are dialled from here."""

    issuer: str
    authorize: str
    end_session: str | None
    token: str
    jwks: str
    userinfo: str | None
    algorithms: tuple[str, ...]
    token_auth: tuple[str, ...]
    names_issuer: bool  # it puts `iss` into its answers, RFC 9207


def secure(url: object) -> bool:
    """Whether an address is one that a token may travel to: https, or this very machine."""
    if not isinstance(url, str) or len(url) > LONGEST_URL:
        return False
    try:
        place = place_of(url.partition("?")[0])
    except OutgoingError:
        return False
    return "#" not in url and url.isprintable() and (place.scheme == "https" or place.host in LOOPBACK)


def read_discovery(body: bytes, issuer: str) -> Endpoints:
    """The endpoints of `issuer`. Raises Refused `discovery`; `issuer` where the document is somebody else's."""
    found = _object(body, "discovery")
    if found.get("issuer") != issuer:
        raise Refused("issuer", "the document names another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not secure(found.get(name)):
            raise Refused("discovery", f"{name} is missing or no https address")
    methods = found.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        raise Refused("discovery", "PKCE with S256 is not offered")
    offered = _texts(found.get("id_token_signing_alg_values_supported")) or ("RS256",)
    algorithms = tuple(one for one in ALGORITHMS if one in offered)
    if not algorithms:
        raise Refused("discovery", "no asymmetric signature is offered")
    return Endpoints(
        issuer=issuer,
        authorize=found["authorization_endpoint"],
        end_session=_optional(found.get("end_session_endpoint")),
        token=found["token_endpoint"],
        jwks=found["jwks_uri"],
        userinfo=_optional(found.get("userinfo_endpoint")),
        algorithms=algorithms,
        token_auth=_texts(found.get("token_endpoint_auth_methods_supported")) or ("client_secret_basic",),
        names_issuer=found.get("authorization_response_iss_parameter_supported") is True,
    )


def read_keys(body: bytes) -> list[dict[str, Any]]:
    """The public signing keys of a key set; others are left out. Raises Refused `keys` where none is left.

    A symmetric key in a public document is everybody's, and a private one is a mistake: neither proves anything.
    """
    listed = _object(body, "keys").get("keys")
    if not isinstance(listed, list):
        raise Refused("keys", "no list of keys")
    kept = [
        dict(one)
        for one in listed[:MOST_KEYS]
        if isinstance(one, dict)
        and one.get("kty") in KEY_TYPES
        and one.get("use", "sig") == "sig"
        and not {"d", "k"} & one.keys()
        and (one["kty"] != "RSA" or len(str(one.get("n"))) >= SHORTEST_RSA)
    ]
    if not kept:
        raise Refused("keys", "no public key for signatures")
    return kept


def fitting(keys: Sequence[Mapping[str, Any]], kid: object, algorithm: str) -> list[Mapping[str, Any]]:
    """The keys that may have made a signature. A header without `kid` fits only where there is no choice."""
    kind = {"R": "RSA", "P": "RSA"}.get(algorithm[0], "OKP" if algorithm.startswith("Ed") else "EC")
    same = [one for one in keys if one["kty"] == kind and one.get("alg", algorithm) == algorithm]
    if kid is None:
        return same if len(same) == 1 else []
    return [one for one in same if one.get("kid") == kid][:1]


def _object(body: bytes, why: Any) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(why, "no JSON") from None
    if not isinstance(found, dict):
        raise Refused(why, "no JSON object")
    return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _optional(url: object) -> str | None:
    return url if isinstance(url, str) and secure(url) else None

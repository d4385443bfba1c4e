"""Parse and validate a provider's metadata: its endpoints and its keys.

OpenID Connect Discovery 1.0 §4, RFC 8414 and RFC 7517. Documents are untrusted: sizes, numbers and types are
limited, and errors raise SignInError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culprit.accounts.single_sign_on.refusal import SignInError
from culprit.infra.network.http_client import OutgoingError, parse_base_url

WELL_KNOWN = "/.well-known/openid-configuration"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
MAX_KEYS = 100
MAX_URL = 2000
#: Signature algorithms that require the private key: neither `none` nor symmetric ones.
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
)  # fmt: skip
MIN_RSA_CHARS = 341  # base64url of 2048 bits; shorter keys are not secure
KEY_TYPES = frozenset({"RSA", "EC", "OKP"})


@dataclass(frozen=True, slots=True)
class ProviderEndpoints:
    """Endpoints of a provider. The browser uses the first two, the platform the others."""

    issuer: str
    authorize: str
    end_session: str | None
    token: str
    jwks: str
    userinfo: str | None
    algorithms: tuple[str, ...]
    token_auth: tuple[str, ...]
    names_issuer: bool  # the provider adds `iss` to its responses, RFC 9207


def is_secure_url(url: object) -> bool:
    """Return whether a token may be sent to this address: https, or loopback."""
    if not isinstance(url, str) or len(url) > MAX_URL:
        return False
    try:
        endpoint = parse_base_url(url.partition("?")[0])
    except OutgoingError:
        return False
    return "#" not in url and url.isprintable() and (endpoint.scheme == "https" or endpoint.host in LOOPBACK)


def parse_discovery(body: bytes, issuer: str) -> ProviderEndpoints:
    """Return the endpoints of `issuer`. Raises SignInError `discovery`; `issuer` if the issuer is another one."""
    metadata = parse_object(body, "discovery")
    if metadata.get("issuer") != issuer:
        raise SignInError("issuer", "the document names another issuer")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not is_secure_url(metadata.get(name)):
            raise SignInError("discovery", f"{name} is missing or no https address")
    methods = metadata.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        raise SignInError("discovery", "PKCE with S256 is not offered")
    offered = _read_strings(metadata.get("id_token_signing_alg_values_supported")) or ("RS256",)
    algorithms = tuple(algorithm for algorithm in ALGORITHMS if algorithm in offered)
    if not algorithms:
        raise SignInError("discovery", "no asymmetric signature is offered")
    return ProviderEndpoints(
        issuer=issuer,
        authorize=metadata["authorization_endpoint"],
        end_session=_read_url(metadata.get("end_session_endpoint")),
        token=metadata["token_endpoint"],
        jwks=metadata["jwks_uri"],
        userinfo=_read_url(metadata.get("userinfo_endpoint")),
        algorithms=algorithms,
        token_auth=_read_strings(metadata.get("token_endpoint_auth_methods_supported"))
        or ("client_secret_basic",),
        names_issuer=metadata.get("authorization_response_iss_parameter_supported") is True,
    )


def parse_keys(body: bytes) -> list[dict[str, Any]]:
    """Return the public signing keys of a key set. Raises SignInError `keys` if there is none.

    Symmetric and private keys are ignored: a published one proves nothing.
    """
    listed = parse_object(body, "keys").get("keys")
    if not isinstance(listed, list):
        raise SignInError("keys", "no list of keys")
    keys = [
        dict(item)
        for item in listed[:MAX_KEYS]
        if isinstance(item, dict)
        and item.get("kty") in KEY_TYPES
        and item.get("use", "sig") == "sig"
        and not {"d", "k"} & item.keys()
        and (item["kty"] != "RSA" or len(str(item.get("n"))) >= MIN_RSA_CHARS)
    ]
    if not keys:
        raise SignInError("keys", "no public key for signatures")
    return keys


def select_keys(keys: Sequence[Mapping[str, Any]], kid: object, algorithm: str) -> list[Mapping[str, Any]]:
    """Return the keys that match a signature's header. Without `kid`, only a unique key matches."""
    kind = {"R": "RSA", "P": "RSA"}.get(algorithm[0], "OKP" if algorithm.startswith("Ed") else "EC")
    same = [key for key in keys if key["kty"] == kind and key.get("alg", algorithm) == algorithm]
    if kid is None:
        return same if len(same) == 1 else []
    return [item for item in same if item.get("kid") == kid][:1]


def parse_object(body: bytes, why: Any) -> dict[str, Any]:
    """Return a JSON object. Raises SignInError with the step `why` for anything else."""
    try:
        result = json.loads(body)
    except (ValueError, RecursionError):
        raise SignInError(why, "no JSON") from None
    if not isinstance(result, dict):
        raise SignInError(why, "no JSON object")
    return result


def _read_strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _read_url(url: object) -> str | None:
    return url if isinstance(url, str) and is_secure_url(url) else None

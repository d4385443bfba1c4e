"""Validate an ID token: first the signature, then the claims (OpenID Connect Core §3.1.3.7). Pure functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from culprit.accounts.single_sign_on.discovery import select_keys
from culprit.accounts.single_sign_on.refusal import SignInError

LEEWAY_S = 60  # difference between the clocks of two servers
MAX_AGE_S = 15 * 60  # a sign-in takes at most ten minutes; an older token belongs to another one
MAX_TIME_S = 1e11  # about 3,000 years; larger numbers are milliseconds or wrong
MAX_TOKEN = 100_000
MAX_SUBJECT = 255  # OpenID Connect Core §2
HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}


class UnknownKeyError(SignInError):
    """No key matches: the provider may have a new one, so its key set must be read again."""

    def __init__(self) -> None:
        super().__init__("token", "signed with a key that the provider does not publish")


def verify_signature(
    token: str, keys: Sequence[Mapping[str, Any]], algorithms: Sequence[str]
) -> dict[str, Any]:
    """Return the claims of a token with a valid signature. Raises SignInError `token` or UnknownKeyError.

    The algorithm must be one of the configured ones, and a key is used only for algorithms of its type, so
    that a public key is never used as a shared secret.
    """
    if len(token) > MAX_TOKEN or not token.isascii():
        raise SignInError("token", "too long, or no ASCII")
    header = _parse_header(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise SignInError("token", "signed in a way that was not agreed")
    candidates = select_keys(keys, header.get("kid"), algorithm)
    if not candidates:
        raise UnknownKeyError
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    try:
        result = jwt.decode(token, import_key(dict(candidates[0])), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise SignInError("token", type(error).__name__) from None
    return dict(result.claims)


def check_claims(claims: Mapping[str, Any], issuer: str, client_id: str, nonce: str, now_s: float) -> str:
    """Validate that the claims belong to this sign-in; return the subject. Raises SignInError `token`."""
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    party = claims.get("azp")
    subject = claims.get("sub")
    claim = claims.get("nonce")
    reasons = {
        "another issuer": claims.get("iss") != issuer,
        "another audience": client_id not in listed,
        "another authorized party": party != client_id if party is not None else len(listed) > 1,
        "no subject": not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT,
        "another nonce": not isinstance(claim, str)
        or not hmac.compare_digest(claim.encode(), nonce.encode()),
        "run out": not (seconds := _parse_seconds(claims, "exp")) or now_s >= seconds + LEEWAY_S,
        "not made now": not (new_seconds := _parse_seconds(claims, "iat"))
        or not now_s - MAX_AGE_S <= new_seconds <= now_s + LEEWAY_S,
        "not valid yet": "nbf" in claims and not 0 < (_parse_seconds(claims, "nbf") or 0) <= now_s + LEEWAY_S,
    }
    wrong = [reason for reason, holds in reasons.items() if holds]
    if wrong:
        raise SignInError("token", ", ".join(wrong))
    return str(subject)


def check_access_token(claims: Mapping[str, Any], header_algorithm: str, access_token: str) -> None:
    """Validate the access token against `at_hash`, if present. Raises SignInError `token`."""
    claim = claims.get("at_hash")
    if claim is None:
        return
    digest = HASHES.get(header_algorithm[-3:], hashlib.sha512)(
        access_token.encode("utf-8", "replace")
    ).digest()
    half = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()
    if not isinstance(claim, str) or not hmac.compare_digest(claim.encode(), half.encode()):
        raise SignInError("token", "another access token")


def get_algorithm(token: str) -> str:
    """Return the algorithm in the header; only for verified tokens."""
    return str(_parse_header(token).get("alg"))


def _parse_header(token: str) -> dict[str, Any]:
    first, _, rest = token.partition(".")
    try:
        result = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except (ValueError, RecursionError):
        raise SignInError("token", "no JWT") from None
    if not isinstance(result, dict) or rest.count(".") != 1:
        raise SignInError("token", "no JWT")
    return result


def _parse_seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < MAX_TIME_S:
        return None
    return float(value)

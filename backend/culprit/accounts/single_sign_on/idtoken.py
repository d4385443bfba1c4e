"""Whether an ID token is what it claims to be: signature first, then what OpenID Connect Core §3.1.3.7 asks. Pure."""

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

from culprit.signon.discovery import fitting
from culprit.signon.refusal import Refused

LEEWAY_S = 60  # clocks of two servers
OLDEST_S = 15 * 60  # a sign-in takes ten minutes at most; a token from before it was not made for it
FOREVER_S = 1e11  # some 3,000 years: what is beyond is milliseconds, or nonsense
LONGEST_TOKEN = 100_000
LONGEST_SUBJECT = 255  # OpenID Connect Core §2
HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}


class UnknownKey(Refused):
    """No key fits: perhaps the provider has a new one, and its key set shall be read again."""

    def __init__(self) -> None:
        super().__init__("token", "signed with a key that the provider does not publish")


def verified(token: str, keys: Sequence[Mapping[str, Any]], algorithms: Sequence[str]) -> dict[str, Any]:
    """The claims of a token whose signature holds. Raises Refused `token`; UnknownKey.

    The algorithm is taken from what was agreed and never from the token alone, and a key is only used for the
    algorithms of its type: a public key is no password.
    """
    if len(token) > LONGEST_TOKEN or not token.isascii():
        raise Refused("token", "too long, or no ASCII")
    header = _header(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise Refused("token", "signed in a way that was not agreed")
    candidates = fitting(keys, header.get("kid"), algorithm)
    if not candidates:
        raise UnknownKey
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    try:
        found = jwt.decode(token, import_key(dict(candidates[0])), registry=registry)
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused("token", type(error).__name__) from None
    return dict(found.claims)


def check(claims: Mapping[str, Any], issuer: str, client_id: str, nonce: str, now_s: float) -> str:
    """Whether the claims are about this sign-in; returns the subject. Raises Refused `token`."""
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    party = claims.get("azp")
    subject = claims.get("sub")
    said = claims.get("nonce")
    reasons = {
        "another issuer": claims.get("iss") != issuer,
        "another audience": client_id not in listed,
        "another authorized party": party != client_id if party is not None else len(listed) > 1,
        "no subject": not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT,
        "another nonce": not isinstance(said, str) or not hmac.compare_digest(said.encode(), nonce.encode()),
        "run out": not (seconds := _seconds(claims, "exp")) or now_s >= seconds + LEEWAY_S,
        "not made now": not (made := _seconds(claims, "iat"))
        or not now_s - OLDEST_S <= made <= now_s + LEEWAY_S,
        "not valid yet": "nbf" in claims and not 0 < (_seconds(claims, "nbf") or 0) <= now_s + LEEWAY_S,
    }
    wrong = [reason for reason, holds in reasons.items() if holds]
    if wrong:
        raise Refused("token", ", ".join(wrong))
    return str(subject)


def check_access_token(claims: Mapping[str, Any], header_algorithm: str, access_token: str) -> None:
    """Whether the access token came with this ID token, where that says so (`at_hash`). Raises Refused `token`."""
    said = claims.get("at_hash")
    if said is None:
        return
    digest = HASHES.get(header_algorithm[-3:], hashlib.sha512)(
        access_token.encode("utf-8", "replace")
    ).digest()
    half = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()
    if not isinstance(said, str) or not hmac.compare_digest(said.encode(), half.encode()):
        raise Refused("token", "another access token")


def algorithm_of(token: str) -> str:
    """What the header says; only for tokens that are verified."""
    return str(_header(token).get("alg"))


def _header(token: str) -> dict[str, Any]:
    first, _, rest = token.partition(".")
    try:
        found = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except (ValueError, RecursionError):
        raise Refused("token", "no JWT") from None
    if not isinstance(found, dict) or rest.count(".") != 1:
        raise Refused("token", "no JWT")
    return found


def _seconds(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < FOREVER_S:
        return None
    return float(value)

"""Random tokens, of which only a hash is kept, and passwords under argon2id."""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

API_PREFIX = "culprit_"  # lets secret scanners find one in a repository
MAX_PASSWORD = 1024

# RFC 9106 §4, second recommended option, with a fourth of its memory: logins may come ten at a time.
HASHER = PasswordHasher(time_cost=3, memory_cost=19_456, parallelism=1)


def new_token(prefix: str = "") -> str:
    """256 random bits, URL-safe."""
    return prefix + secrets.token_urlsafe(32)


def token_hash(token: str) -> bytes:
    """What is stored of a token. A fast hash suffices: 256 random bits cannot be guessed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def hash_password(password: str) -> str:
    """The argon2id string of a password."""
    return HASHER.hash(password)


@lru_cache(maxsize=1)
def _nobody() -> str:
    return HASHER.hash(secrets.token_urlsafe(16))


def password_matches(stored: str | None, password: str) -> bool:
    """Whether it is the password. Takes as long where there is no account or no password set."""
    try:
        return HASHER.verify(stored or _nobody(), password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False

"""Random tokens, stored as a hash, and passwords under argon2id."""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

API_PREFIX = "culprit_"  # prefix for secret scanners
MAX_PASSWORD = 1024

# RFC 9106 §4, second recommended option, with a quarter of its memory: ten logins can run at once.
HASHER = PasswordHasher(time_cost=3, memory_cost=19_456, parallelism=1)


def generate_token(prefix: str = "") -> str:
    """Return 256 random bits, URL-safe."""
    return prefix + secrets.token_urlsafe(32)


def hash_token(token: str) -> bytes:
    """Return the stored hash of a token. A fast hash is enough: 256 random bits cannot be guessed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def hash_password(password: str) -> str:
    """Return the argon2id string of a password."""
    return HASHER.hash(password)


@lru_cache(maxsize=1)
def _dummy_hash() -> str:
    return HASHER.hash(secrets.token_urlsafe(16))


def is_password_correct(stored: str | None, password: str) -> bool:
    """Return whether the password is correct, in the same time without an account or a password."""
    try:
        return HASHER.verify(stored or _dummy_hash(), password) and stored is not None
    except (VerificationError, InvalidHashError):
        return False

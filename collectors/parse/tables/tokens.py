"""Numbers and words out of hostile text: bounded, and never an exception."""

from __future__ import annotations

import math
import re

from collectors.profiles.limits import to_printable

NAN = math.nan
#: 2^62: leaves room to add an epoch without leaving int64.
MAX_NS = 1 << 62
_MAX_DIGITS = 20
_MAX_HEX_DIGITS = 16
_DECIMAL = re.compile(rb"-?\d{1,20}(?:\.\d{1,12})?\Z")


def parse_counter(token: bytes) -> float:
    """A number made of digits only; NaN for anything else."""
    return float(token) if token.isdigit() and len(token) <= _MAX_DIGITS else NAN


def parse_whole(token: bytes) -> int | None:
    """A number made of digits only, at most 2^62; None for anything else."""
    if not token.isdigit() or len(token) > _MAX_DIGITS:
        return None
    value = int(token)
    return value if value <= MAX_NS else None


def parse_hexadecimal(token: bytes) -> float:
    """A hexadecimal number of at most 16 digits without a prefix; NaN for anything else."""
    if len(token) > _MAX_HEX_DIGITS or not token.isalnum():
        return NAN
    try:
        return float(int(token, 16))
    except ValueError:
        return NAN


def parse_decimal(token: bytes) -> float:
    """A plain decimal, perhaps negative; NaN for anything else, exponents and names of numbers included."""
    return float(token) if _DECIMAL.match(token) else NAN


def parse_amount(token: bytes) -> float:
    """A plain decimal that is not negative; NaN for anything else."""
    return NAN if token.startswith(b"-") else parse_decimal(token)


def parse_seconds_ns(token: bytes) -> int | None:
    """`1454.35` seconds as whole nanoseconds, exactly; None for anything else."""
    whole_part, _, fraction = token.partition(b".")
    if not whole_part.isdigit() or len(whole_part) > 9 or len(fraction) > 9:
        return None
    if fraction and not fraction.isdigit():
        return None
    return int(whole_part) * 1_000_000_000 + int(fraction.ljust(9, b"0") or b"0")


def to_text(raw: bytes, limit: int = 500) -> str:
    """Text from a host as it may be stored and shown: UTF-8, no control characters, at most `limit` long."""
    text = to_printable(raw[: limit * 4].decode("utf-8", "replace"))
    return text if len(text) <= limit else text[: limit - 1] + "…"

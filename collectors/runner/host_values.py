"""Values that a host sends, checked before they enter the platform: text without control characters, numbers in range.

PostgreSQL stores no NUL in any text, an `integer` up to 2^31 - 1 and a `bigint` up to 2^63 - 1. A value that does not
fit is rejected where it enters, by name, so that it cannot cost the rest of a run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.profiles.limits import to_printable

RejectReason = Literal["control_characters", "out_of_range", "not_a_number", "unexpected_value"]

#: How the keys begin of sentences about one value of a collector that was not stored, one for each reason.
FIELD_REJECTED = "run.field_"
INT4_MAX = (1 << 31) - 1
INT8_MAX = (1 << 63) - 1
#: Longer than any number that fits; bounds the work of a conversion.
_MAX_DIGITS = 40
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?", re.ASCII)
#: What identifies a boot or a machine; both are hexadecimal on real hosts.
_IDENTIFIER = re.compile(r"[A-Za-z0-9._:-]{1,100}", re.ASCII)
_IDENTIFIER_FIELDS = ("boot_id", "machine_id")
_DECIMAL_FIELDS = ("fork_ms", "cpu_ms")


@dataclass(frozen=True, slots=True)
class RejectedFieldError:
    """A field whose value was dropped or cleaned, and why."""

    field: str
    reason: RejectReason


def clean_line(text: str) -> str:
    """Return one line of text; control characters but the tab, and lone surrogates, become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\t" else to_printable(c) for c in text)


def clean_block(text: str) -> str:
    """Return text of several lines; tab, newline, carriage return and escape stay, other control characters do not.

    What a tool printed on its standard error stays readable with its colors and progress bars.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\t\n\r\x1b" else to_printable(c) for c in text)


def read_integer(
    fields: Mapping[str, str], name: str, high: int, rejected: list[RejectedFieldError]
) -> int | None:
    """Return the field as an integer from 0 to `high`; None where it is absent, or rejected and added to the list."""
    text = fields.get(name, "-")
    if text in ("", "-"):
        return None
    if not _DIGITS.fullmatch(text):
        rejected.append(RejectedFieldError(name, "not_a_number"))
        return None
    if not is_digits(text) or int(text) > high:
        rejected.append(RejectedFieldError(name, "out_of_range"))
        return None
    return int(text)


def is_digits(text: str) -> bool:
    """Whether a text is nothing but ASCII digits and short enough for a number; `str.isdigit` accepts more."""
    return len(text) <= _MAX_DIGITS and _DIGITS.fullmatch(text) is not None


def read_decimal(text: str) -> float | None:
    """Return a plain finite decimal that is not negative; None for anything else, `nan` and `inf` included."""
    if not _DECIMAL.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def read_line(name: str, text: str, rejected: list[RejectedFieldError]) -> str:
    """Return one line as clean text; names it where something had to be replaced."""
    clean = clean_line(text)
    if clean != text:
        rejected.append(RejectedFieldError(name, "control_characters"))
    return clean


def clean_facts(facts: Mapping[str, str]) -> tuple[dict[str, str], tuple[RejectedFieldError, ...]]:
    """Return the facts that can be stored, and what was rejected.

    Identifiers and numbers are dropped where they are not what they should be; other text is cleaned.
    """
    stored: dict[str, str] = {}
    rejected: list[RejectedFieldError] = []
    for name, value in facts.items():
        if name in _IDENTIFIER_FIELDS and value not in ("", "-") and not _IDENTIFIER.fullmatch(value):
            bad = clean_line(value) != value
            rejected.append(RejectedFieldError(name, "control_characters" if bad else "unexpected_value"))
        elif name in _DECIMAL_FIELDS and value not in ("", "-") and read_decimal(value) is None:
            rejected.append(RejectedFieldError(name, "not_a_number"))
        else:
            stored[name] = read_line(name, value, rejected)
    return stored, tuple(rejected)

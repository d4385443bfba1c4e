"""The opaque form of the key that a list is sorted by, as it travels in a cursor."""

from __future__ import annotations

import base64
import binascii
import json
from uuid import UUID

from culprit.kit.errors import Invalid


def encode(value: str | int) -> str:
    """The opaque form of a sort key."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def decode(cursor: str, kind: type[UUID] | type[int] | type[str]) -> UUID | int | str:
    """The sort key in a cursor. Raises Invalid for anything that `encode` did not make."""
    try:
        value = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if kind is int:
            if type(value) is not int or abs(value) >= 1 << 63:
                raise ValueError
            return value
        if not isinstance(value, str) or "\0" in value:
            raise ValueError
        return UUID(value) if kind is UUID else value
    except (binascii.Error, ValueError, RecursionError):
        raise Invalid("request.cursor_unreadable") from None

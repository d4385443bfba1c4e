"""Encode and decode the sort key in a page cursor."""

from __future__ import annotations

import base64
import binascii
import json
from uuid import UUID

from culprit.web.errors import InvalidRequestError


def encode_cursor(value: str | int) -> str:
    """Return the opaque form of a sort key."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kind: type[UUID] | type[int] | type[str]) -> UUID | int | str:
    """Return the sort key in a cursor.

    Raises InvalidRequestError for any text that `encode` did not return.
    """
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
        raise InvalidRequestError("request.cursor_unreadable") from None

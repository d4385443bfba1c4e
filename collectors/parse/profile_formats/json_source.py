"""JSON of a profile, read without trust: bounded, and every error names the place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from collectors.parse.profile_formats.table_builder import not_format
from collectors.profiles.limits import Readable, limit_error

MAX_BYTES = 128 << 20
"""A longer file is refused: it is held in memory, and its objects take some ten times as much."""

Json = dict[str, Any]


def read_whole(source: Readable) -> bytes:
    """Return everything. Raises LimitExceededError beyond MAX_BYTES."""
    pieces, size = [], 0
    while piece := source.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise limit_error("whole", MAX_BYTES)
    return b"".join(pieces)


def load_json(data: bytes, name: str) -> Any:
    """Return the value of a JSON text. Raises WrongFormatError for format `name`."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise not_format(name, f"line {error.lineno}, column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise not_format(name, f"byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise not_format(name, "JSON") from error


class Place:
    """Where a reader is in a file, for its errors."""

    def __init__(self, name: str) -> None:
        self.name, self.at = name, "JSON"

    @contextmanager
    def check_shape(self) -> Iterator[None]:
        """Turn every error of an unexpected shape into a refusal that names the place."""
        try:
            yield
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise not_format(self.name, self.at) from error


def to_index(value: object, length: int) -> int:
    """Return an index below `length`. Raises TypeError or IndexError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    if not 0 <= value < length:
        raise IndexError(value)
    return value


def to_number(value: object) -> int | float:
    """Return a finite number. Raises TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def to_name(value: object) -> str:
    """Return a text; empty for null. Raises TypeError."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def to_task_id(value: object) -> int:
    """Return an id that is written as a number or as text; -1 where it is none."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 12:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1

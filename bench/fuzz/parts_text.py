"""The parts of an artifact as one text, so that a fuzzer changes names, method and contents alike.

The first line is `method NAME`. Each part follows a line `=== NAME`. Without such a line, the text is both the part
`stdout` and the part `samples`, which most collectors read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_METHOD = re.compile(rb"method ([ -~]{0,60})\n")
_NAME = re.compile(rb"(?:\A|\n)=== ([A-Za-z0-9_][A-Za-z0-9._-]{0,99})\n")


def encode_parts(method: str, parts: Mapping[str, bytes], limit: int) -> bytes:
    """Return the text of the parts. Each part is cut at a line, so that all have about `limit` bytes."""
    share = limit // max(1, len(parts)) - 64
    text = f"method {method}\n".encode()
    return text + b"\n".join(
        f"=== {name}\n".encode() + _cut_at_line(data, share) for name, data in sorted(parts.items())
    )


def decode_parts(text: bytes) -> tuple[str, dict[str, bytes]]:
    """Return the collection method and the parts of a text."""
    method = ""
    if match := _METHOD.match(text):
        method, text = match[1].decode(), text[match.end() :]
    first, *rest = _NAME.split(text)
    if not rest:
        return method, {"stdout": first, "samples": first}
    return method, {name.decode(): data for name, data in zip(rest[::2], rest[1::2], strict=True)}


def _cut_at_line(data: bytes, limit: int) -> bytes:
    if len(data) <= limit:
        return data
    return data[: data.rfind(b"\n", 0, limit) + 1] or data[:limit]

"""Model Context Protocol for a read-only server: JSON-RPC 2.0, one message per line.

https://modelcontextprotocol.io/specification/2025-06-18: initialize, ping, tools, resources. The official SDK
depends on a web server, telemetry and pydantic, which the command line must start without. The tests use its
client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from culprit.json_types import Json

Method = Callable[[Json], Json]
#: Newest version first: the server offers it to a client that requests an unknown version.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_LINE = 1 << 20
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


class McpError(Exception):
    """A request that cannot be answered, with its JSON-RPC code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class McpPeer:
    """Answer messages by method. `methods` take params and return a result, or raise McpError."""

    methods: Mapping[str, Method]

    def answer(self, line: bytes) -> Json | None:
        """Return the answer to one line, or None for a notification."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _build_error(None, PARSE_ERROR, "The line is not JSON.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _build_error(None, INVALID_REQUEST, "Send one JSON-RPC 2.0 object per line.")
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if "method" not in message:
            return None  # an answer without a request
        if number is not None and (isinstance(number, bool) or not isinstance(number, str | int)):
            return _build_error(None, INVALID_REQUEST, "An id is a string or a number.")
        if number is None:
            return None
        if not isinstance(method, str) or not isinstance(params, dict):
            return _build_error(number, INVALID_REQUEST, "A method is a string and params is an object.")
        work = self.methods.get(method)
        if work is None:
            return _build_error(number, NO_METHOD, f"Unknown method: {method[:80]}.")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": work(params)}
        except McpError as refused:
            return _build_error(number, refused.code, str(refused))


def _build_error(number: str | int | None, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def serve_stdio(peer: McpPeer, taken: BinaryIO, binary_io: BinaryIO) -> None:
    """Answer lines until standard input ends. Skip and refuse a line that is too long."""
    while line := taken.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = taken.readline(MAX_LINE)
            answer: Json | None = _build_error(None, INVALID_REQUEST, "A message has at most one megabyte.")
        elif not line.strip():
            continue
        else:
            answer = peer.answer(line)
        if answer is not None:
            binary_io.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
            binary_io.flush()


def check_params(schema: Mapping[str, Any], supplied: object) -> Json:
    """Return the arguments checked against a tool's schema, a small part of JSON Schema. Raises McpError."""
    if not isinstance(supplied, dict):
        raise McpError(INVALID_PARAMS, "Arguments must be an object.")
    known: Mapping[str, Any] = schema["properties"]
    if unknown := sorted(str(name)[:40] for name in set(supplied) - set(known)):
        raise McpError(INVALID_PARAMS, f"Unknown argument: {', '.join(unknown)}.")
    if missing := [name for name in schema.get("required", ()) if name not in supplied]:
        raise McpError(INVALID_PARAMS, f"Missing argument: {', '.join(missing)}.")
    for name, value in supplied.items():
        rule = known[name]
        if rule["type"] == "integer":
            fits = isinstance(value, int) and not isinstance(value, bool)
            fits = fits and rule.get("minimum", value) <= value <= rule.get("maximum", value)
        else:
            fits = isinstance(value, str) and len(value) <= rule.get("maxLength", 200)
            fits = fits and value in rule.get("enum", [value])
        if not fits:
            raise McpError(INVALID_PARAMS, f"Argument {name} does not match: {rule['description']}")
    return dict(supplied)

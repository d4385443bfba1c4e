"""The part of the Model Context Protocol that a read-only server needs: JSON-RPC 2.0, one message a line.

https://modelcontextprotocol.io/specification/2025-06-18: initialize, ping, tools, resources. No SDK: the official one
brings a web server, telemetry and pydantic, which the command line must start without; its client is what tests use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

Json = dict[str, Any]
Method = Callable[[Json], Json]
#: The newest first: it is what we offer to a client that asks for one we do not know.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MAX_LINE = 1 << 20
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


class Refused(Exception):
    """A request that cannot be answered, with its JSON-RPC code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Peer:
    """Answers messages by their method. `methods` take params and give a result, or raise Refused."""

    methods: Mapping[str, Method]

    def answer(self, line: bytes) -> Json | None:
        """What is to be sent back for one line; None for a notification."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, PARSE_ERROR, "This is no JSON.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, INVALID_REQUEST, "One JSON-RPC 2.0 object a line.")
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if "method" not in message:
            return None  # an answer to what was never asked
        if number is not None and (isinstance(number, bool) or not isinstance(number, str | int)):
            return _error(None, INVALID_REQUEST, "An id is a text or a number.")
        if number is None:
            return None
        if not isinstance(method, str) or not isinstance(params, dict):
            return _error(number, INVALID_REQUEST, "A method is a text, params are an object.")
        work = self.methods.get(method)
        if work is None:
            return _error(number, NO_METHOD, f"There is no method {method[:80]}.")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": work(params)}
        except Refused as refused:
            return _error(number, refused.code, str(refused))


def _error(number: str | int | None, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def serve(peer: Peer, taken: BinaryIO, given: BinaryIO) -> None:
    """Until standard input ends. A line that is too long is skipped to its end, and refused."""
    while line := taken.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = taken.readline(MAX_LINE)
            answer: Json | None = _error(None, INVALID_REQUEST, "A message holds a megabyte at most.")
        elif not line.strip():
            continue
        else:
            answer = peer.answer(line)
        if answer is not None:
            given.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
            given.flush()


def check(schema: Mapping[str, Any], given: object) -> Json:
    """Arguments as a tool's schema has them: the few words of JSON Schema that are used here. Raises Refused."""
    if not isinstance(given, dict):
        raise Refused(INVALID_PARAMS, "Arguments are an object.")
    known: Mapping[str, Any] = schema["properties"]
    if unknown := sorted(str(name)[:40] for name in set(given) - set(known)):
        raise Refused(INVALID_PARAMS, f"Unknown argument: {', '.join(unknown)}.")
    if missing := [name for name in schema.get("required", ()) if name not in given]:
        raise Refused(INVALID_PARAMS, f"Missing argument: {', '.join(missing)}.")
    for name, value in given.items():
        rule = known[name]
        if rule["type"] == "integer":
            fits = isinstance(value, int) and not isinstance(value, bool)
            fits = fits and rule.get("minimum", value) <= value <= rule.get("maximum", value)
        else:
            fits = isinstance(value, str) and len(value) <= rule.get("maxLength", 200)
            fits = fits and value in rule.get("enum", [value])
        if not fits:
            raise Refused(INVALID_PARAMS, f"Argument {name} does not fit: {rule['description']}")
    return dict(given)

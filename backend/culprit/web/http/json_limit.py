"""Limit the structure of a JSON body before it is parsed.

A body of a few kilobytes can contain thousands of values, and each unknown value would produce its own error
message. Counting brackets and commas costs about as much as reading the body once.
"""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from culprit.web.http.problem_details import build_problem

MAX_VALUES = 20_000
MAX_DEPTH = 64
# An unterminated string counts to the end of the body, so that no byte is read twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def is_too_complex(body: bytes) -> bool:
    """Return whether a JSON text has more than `MAX_VALUES` values or more levels than `MAX_DEPTH`."""
    structure = _STRING.sub(b"", body)
    opening = structure.count(b"[") + structure.count(b"{")
    closing = structure.count(b"]") + structure.count(b"}")
    if max(opening, closing) > MAX_VALUES or opening + structure.count(b",") > MAX_VALUES:
        return True
    depth = 0
    for bracket in _BRACKET.findall(structure):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


class JsonLimit:
    """Refuse JSON bodies with too many values, too many levels, or an encoding other than UTF-8.

    It reads the whole body: `BodyLimit` must run before it. Paths that match `proven` are skipped: their
    bodies are parsed only after their signature was checked.
    """

    def __init__(self, app: ASGIApp, *, proven: re.Pattern[str]) -> None:
        self.app = app
        self.proven = proven

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward requests within the limits."""
        if scope["type"] != "http" or not _is_json(scope) or self.proven.match(scope["path"]):
            await self.app(scope, receive, send)
            return
        ended = False
        pieces: list[bytes] = []
        try:
            while not ended:
                message = await receive()
                if message["type"] != "http.request":
                    return
                pieces.append(message.get("body", b""))
                ended = not message.get("more_body", False)
        except HTTPException as error:
            await build_problem(error.status_code, "request.too_large")(scope, receive, send)
            return
        body = b"".join(pieces)
        refusal = _find_refusal(body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        sent = False

        async def replayed() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replayed, send)


def _is_json(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    kind = headers.get(b"content-type", b"").lower()
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    return has_body and (not kind or b"json" in kind)


def _find_refusal(body: bytes) -> Response | None:
    # Every other encoding of JSON has NUL bytes; UTF-8 text has none.
    if b"\0" in body:
        return build_problem(422, "request.not_utf8")
    if is_too_complex(body):
        return build_problem(422, "request.too_complex", {"values": MAX_VALUES, "depth": MAX_DEPTH})
    return None

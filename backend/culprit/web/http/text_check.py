"""Refuse JSON bodies with a NUL character, which PostgreSQL cannot store in a text, and name the field."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from culprit.web.errors import FieldError
from culprit.web.http.problem_details import build_problem, render_message

ESCAPED_NUL = b"\\u0000"
#: Longer bodies are not checked: they are files, and the database refuses a text with NUL.
MAX_BODY = 2 << 20
MAX_DEPTH = 50
MAX_NAMED = 50


class TextCheck:
    """Answer 422 to a JSON body that contains a NUL.

    Paths that end with `except_below` read their bodies themselves.
    """

    def __init__(self, app: ASGIApp, *, except_below: tuple[str, ...] = ()) -> None:
        self.app = app
        self.except_below = except_below

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request unless the body contains a NUL."""
        if scope["type"] != "http" or not _is_json(scope) or scope["path"].endswith(self.except_below):
            await self.app(scope, receive, send)
            return
        messages: list[Message] = []
        body = bytearray()
        refusal: HTTPException | None = None
        try:
            while not messages or (messages[-1].get("more_body") and len(body) <= MAX_BODY):
                messages.append(await receive())
                body += messages[-1].get("body", b"")
        except HTTPException as error:  # too large: the reader of the body reports it
            refusal = error
        fields = list_nul_fields(bytes(body))
        if fields:
            text = render_message("request.nul_character")
            errors = tuple(FieldError(field, "request.nul_character", text) for field in fields)
            answer = build_problem(422, "request.invalid", {"fields": ", ".join(fields)}, errors=errors)
            await answer(scope, receive, send)
            return
        stream = iter(messages)

        async def replay() -> Message:
            message = next(stream, None)
            if message is None and refusal is not None:
                raise refusal
            return message or await receive()

        await self.app(scope, replay, send)


def _is_json(scope: Scope) -> bool:
    kind = bytes(dict(scope["headers"]).get(b"content-type", b""))
    return kind.split(b";")[0].strip().lower().endswith(b"json")


def list_nul_fields(body: bytes) -> list[str]:
    """Return the paths of texts and names in a JSON body that contain a NUL, sorted, at most MAX_NAMED."""
    if ESCAPED_NUL not in body:
        return []
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return []  # the reader of the body reports the syntax error
    result: set[str] = set()
    for path in _with_nul(document, ()):
        result.add(path)
        if len(result) >= MAX_NAMED:
            break
    return sorted(result)


def _with_nul(value: object, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, str):
        if "\0" in value:
            yield ".".join(path)[:200] or "body"
    elif len(path) >= MAX_DEPTH:
        return
    elif isinstance(value, dict):
        for name, item in value.items():
            if "\0" in name:
                yield ".".join((*path, name.replace("\0", "\ufffd")))[:200]
            yield from _with_nul(item, (*path, name.replace("\0", "\ufffd")))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _with_nul(item, (*path, str(at)))

"""Refuses JSON bodies with a NUL character, by the name of the field: PostgreSQL stores it in no text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from culprit.kit.errors import FieldError
from culprit.kit.problem import problem, render_message

ESCAPED_NUL = b"\\u0000"
#: A longer body is not looked at: it is a file, and whoever stores a text of it is told by the database.
MAX_BODY = 2 << 20
MAX_DEPTH = 50
MAX_NAMED = 50


class TextCheck:
    """Answers 422 to a JSON body that holds a NUL. `except_below`: paths that end so read their bodies themselves."""

    def __init__(self, app: ASGIApp, *, except_below: tuple[str, ...] = ()) -> None:
        self.app = app
        self.except_below = except_below

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, unless the body holds a NUL."""
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
        except HTTPException as error:  # too large: who reads the body hears of it there
            refusal = error
        fields = nul_fields(bytes(body))
        if fields:
            text = render_message("request.nul_character")
            errors = tuple(FieldError(field, "request.nul_character", text) for field in fields)
            answer = problem(422, "request.invalid", {"fields": ", ".join(fields)}, errors=errors)
            await answer(scope, receive, send)
            return
        kept = iter(messages)

        async def replay() -> Message:
            message = next(kept, None)
            if message is None and refusal is not None:
                raise refusal
            return message or await receive()

        await self.app(scope, replay, send)


def _is_json(scope: Scope) -> bool:
    kind = bytes(dict(scope["headers"]).get(b"content-type", b""))
    return kind.split(b";")[0].strip().lower().endswith(b"json")


def nul_fields(body: bytes) -> list[str]:
    """Return the paths of the texts and names in a JSON body that hold a NUL, sorted; at most MAX_NAMED."""
    if ESCAPED_NUL not in body:
        return []
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return []  # who reads the body says what is wrong with it
    found: set[str] = set()
    for path in _with_nul(document, ()):
        found.add(path)
        if len(found) >= MAX_NAMED:
            break
    return sorted(found)


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

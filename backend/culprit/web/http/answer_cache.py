"""Encoded answers by ETag, so that many viewers of the same data cost one computation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from fastapi import Request, Response

from culprit.web.http.json_response import encode_json, is_known


class AnswerCache:
    """The answers last used in this process, at most `max_bytes` of them; larger answers are not kept.

    The tag of an answer must determine its bytes, including what the account may see: an answer is given to every
    request with its tag. One answer is computed at a time, because requests for the same tag arrive together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._access, self._computing = Lock(), Lock()

    def not_modified_or(self, request: Request, tag: str, make: Callable[[], object]) -> Response:
        """Return 304 if If-None-Match contains the tag, else the answer with its tag: the kept bytes, or `make()`."""
        if is_known(request, tag):
            answer = Response(status_code=304)
        else:
            answer = Response(self._get(tag) or self._compute(tag, make), media_type="application/json")
        answer.headers["ETag"] = tag
        return answer

    def _get(self, tag: str) -> bytes | None:
        with self._access:
            if tag in self._bodies:
                self._bodies.move_to_end(tag)
            return self._bodies.get(tag)

    def _compute(self, tag: str, make: Callable[[], object]) -> bytes:
        with self._computing:
            if body := self._get(tag):
                return body
            body = encode_json(make())
            self._keep(tag, body)
        return body

    def _keep(self, tag: str, body: bytes) -> None:
        if len(body) > self._max_bytes:
            return
        with self._access:
            self._bodies[tag] = body
            self._size += len(body)
            while self._size > self._max_bytes:
                _, oldest = self._bodies.popitem(last=False)
                self._size -= len(oldest)

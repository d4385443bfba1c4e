"""Encoded answers by ETag, so that many viewers of the same data cost one computation."""

from __future__ import annotations

import gzip
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from fastapi import Request, Response

from culprit.web.http.compression import MIN_BYTES, accepts_gzip
from culprit.web.http.json_response import encode_json, is_known

#: zlib level. An answer is compressed once for all its readers.
LEVEL = 6


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """The bytes of an answer, compressed with gzip if that is worth it."""

    content: bytes
    is_packed: bool

    def respond(self, request: Request) -> Response:
        """Return the answer as the client reads it."""
        if not self.is_packed:
            return Response(self.content, media_type="application/json")
        headers = {"Vary": "Accept-Encoding"}
        if not accepts_gzip(request.scope):
            return Response(gzip.decompress(self.content), headers=headers, media_type="application/json")
        headers["Content-Encoding"] = "gzip"
        return Response(self.content, headers=headers, media_type="application/json")


def encode_answer(content: object) -> EncodedAnswer:
    """Encode an answer as JSON, and compress it unless it is small."""
    body = encode_json(content)
    if len(body) < MIN_BYTES:
        return EncodedAnswer(body, False)
    return EncodedAnswer(gzip.compress(body, LEVEL, mtime=0), True)


class AnswerCache:
    """The answers last used in this process, at most `max_bytes` of them; larger answers are not kept.

    The tag of an answer must determine its bytes, including what the account may see: an answer is given to every
    request with its tag. One answer is computed at a time, because requests for the same tag arrive together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._answers: OrderedDict[str, EncodedAnswer] = OrderedDict()
        self._size = 0
        self._access, self._computing = Lock(), Lock()

    def not_modified_or(self, request: Request, tag: str, make: Callable[[], object]) -> Response:
        """Return 304 if If-None-Match contains the tag, else the answer with its tag: the kept bytes, or `make()`."""
        if is_known(request, tag):
            answer = Response(status_code=304)
        else:
            answer = (self._get(tag) or self._compute(tag, make)).respond(request)
        answer.headers["ETag"] = tag
        return answer

    def _get(self, tag: str) -> EncodedAnswer | None:
        with self._access:
            if tag in self._answers:
                self._answers.move_to_end(tag)
            return self._answers.get(tag)

    def _compute(self, tag: str, make: Callable[[], object]) -> EncodedAnswer:
        with self._computing:
            if answer := self._get(tag):
                return answer
            answer = encode_answer(make())
            self._keep(tag, answer)
        return answer

    def _keep(self, tag: str, answer: EncodedAnswer) -> None:
        if len(answer.content) > self._max_bytes:
            return
        with self._access:
            self._answers[tag] = answer
            self._size += len(answer.content)
            while self._size > self._max_bytes:
                _, oldest = self._answers.popitem(last=False)
                self._size -= len(oldest.content)

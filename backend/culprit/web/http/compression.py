"""Answers as gzip where the client takes it; streams of events, packed downloads, ranges and secrets are left alone."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Less than this fits in one packet as it is.
LEAST_BYTES = 1024
#: Of zlib's nine levels the one after which an answer of the fleet hardly shrinks while its CPU time doubles.
LEVEL = 4
#: What is packed already, or is handed out byte by byte as it was stored.
PACKED = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream", "application/zstd")


class Compression:
    """Compresses answers of at least LEAST_BYTES.

    `never` are the paths, with all below them, whose answers hold secrets (tokens against forged requests, of the API,
    of login links): what somebody else can write into a compressed answer tells by its length what stands beside it
    (BREACH). Answers to requests for a range keep their bytes, for others a strong ETag becomes a weak one: the packed
    bytes are not those that it named.
    """

    def __init__(self, app: ASGIApp, *, never: tuple[str, ...]) -> None:
        self.plain = app
        self.packed = GZipMiddleware(
            app, minimum_size=LEAST_BYTES, compresslevel=LEVEL, exclude_content_types=PACKED
        )
        self.never = never

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, packing the answer."""
        if scope["type"] != "http" or self._as_it_is(scope):
            await self.plain(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                _weaken(MutableHeaders(scope=message))
            await send(message)

        await self.packed(scope, receive, told)

    def _as_it_is(self, scope: Scope) -> bool:
        secret = any(f"{scope['path']}/".startswith(f"{one}/") for one in self.never)
        return secret or any(name == b"range" for name, _ in scope["headers"])


def _weaken(headers: MutableHeaders) -> None:
    if headers.get("content-encoding") != "gzip":
        return
    tag = headers.get("etag", "")
    if tag.startswith('"'):
        headers["etag"] = f"W/{tag}"
    if "accept-ranges" in headers:
        del headers["accept-ranges"]

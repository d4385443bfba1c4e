"""Compress answers with gzip. Event streams, compressed downloads, ranges and secrets are left unchanged."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Smaller answers fit into one packet.
MIN_BYTES = 1024
#: zlib level. Higher levels hardly shrink an answer of the fleet and double its CPU time.
LEVEL = 4
#: Media types that are already compressed or are sent exactly as stored.
UNCOMPRESSED_TYPES = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream", "application/zstd")


class Compression:
    """Compress answers of at least MIN_BYTES.

    `never` lists path prefixes whose answers contain secrets (CSRF tokens, API tokens, login links): the size
    of a compressed answer can reveal a secret next to text that an attacker controls (BREACH). Answers to
    range requests are unchanged. In other compressed answers a strong ETag becomes a weak one, because the
    bytes differ.
    """

    def __init__(self, app: ASGIApp, *, never: tuple[str, ...]) -> None:
        self.plain = app
        self.packed = GZipMiddleware(
            app, minimum_size=MIN_BYTES, compresslevel=LEVEL, exclude_content_types=UNCOMPRESSED_TYPES
        )
        self.never = never

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and compress the answer."""
        if scope["type"] != "http" or self._is_excluded(scope):
            await self.plain(scope, receive, send)
            return

        async def send_weakened(message: Message) -> None:
            if message["type"] == "http.response.start":
                _weaken_etag(MutableHeaders(scope=message))
            await send(message)

        await self.packed(scope, receive, send_weakened)

    def _is_excluded(self, scope: Scope) -> bool:
        secret = any(f"{scope['path']}/".startswith(f"{item}/") for item in self.never)
        return secret or any(name == b"range" for name, _ in scope["headers"])


def accepts_gzip(scope: Scope) -> bool:
    """Return whether the client reads gzip, by the rule of `GZipMiddleware`, and did not request a range."""
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and "range" not in headers


def _weaken_etag(headers: MutableHeaders) -> None:
    if headers.get("content-encoding") != "gzip":
        return
    tag = headers.get("etag", "")
    if tag.startswith('"'):
        headers["etag"] = f"W/{tag}"
    if "accept-ranges" in headers:
        del headers["accept-ranges"]

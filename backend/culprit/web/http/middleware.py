"""Middleware for all requests: security headers, size limit, request metrics."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from culprit.web.http.problem_details import build_problem

# No unsafe-inline, not for styles either: Mantine and d3 set styles through the CSSOM, which no policy
# forbids.
CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Add security headers that an answer does not set itself. Answers of the API are not cached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and add headers to the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        api = scope["path"].startswith("/api/")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if api:
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


class BodyLimit:
    """Refuse bodies above a limit, by their Content-Length or when they exceed it.

    `larger` maps paths to their own limits; a path with a trailing slash includes all paths below it. A
    request without cookie and Authorization header, or to a path of `public`, may send `anonymous` bytes.
    Paths that match `proven` are exempt, because they check a signature.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limit: int,
        larger: Mapping[str, int],
        anonymous: int,
        public: Collection[str] = (),
        proven: re.Pattern[str] = re.compile(r"(?!)"),
    ) -> None:
        self.app = app
        self.limit = limit
        self.larger = larger
        self.anonymous = anonymous
        self.public = frozenset(public)
        self.proven = proven

    def _get_limit(self, scope: Scope) -> int:
        path = scope["path"]
        if not self.proven.match(path):
            names = {name for name, _ in scope["headers"]}
            if path in self.public or not names & {b"cookie", b"authorization"}:
                return self.anonymous
        below = path.rpartition("/")[0] + "/"
        return self.larger.get(path, self.larger.get(below, self.limit))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and count its bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._get_limit(scope)
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if stated.isdigit() and int(stated) > limit:
            answer = build_problem(
                413, "request.too_large", {"limit_bytes": limit}, headers={"Connection": "close"}
            )
            await answer(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > limit:
                    raise HTTPException(413)
            return message

        await self.app(scope, counted, send)


def _get_template(scope: Scope) -> str:
    """Return the template of the route; a route of an included router knows only its own part."""
    path = str(getattr(scope.get("route"), "path", "other"))
    return "/api/v1" + path if scope["path"].startswith("/api/v1/") and path != "other" else path


class Metrics:
    """Count and time requests by route template, so that IDs never become labels."""

    def __init__(self, app: ASGIApp, *, registry: CollectorRegistry) -> None:
        self.app = app
        labels = ("method", "route", "status")
        self.requests = Counter("culprit_http_requests", "Answered requests", labels, registry=registry)
        self.seconds = Histogram(
            "culprit_http_request_seconds",
            "Time to the complete answer",
            ("method", "route"),
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and time it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500
        begun = time.monotonic()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = _get_template(scope)
            method = scope["method"] if scope["method"] in {"GET", "POST", "PATCH", "DELETE"} else "other"
            self.requests.labels(method, route, str(status)).inc()
            self.seconds.labels(method, route).observe(time.monotonic() - begun)

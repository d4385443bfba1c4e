"""Public endpoints of upload addresses: GET returns the script, PUT accepts its output. No account, plain
text.

A body is written to a file as it arrives, and counted there: the Content-Length of the client is not trusted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from culprit.accounts.dependencies import get_client_address
from culprit.captures.uploads import locks as claims
from culprit.captures.uploads import service
from culprit.captures.uploads.locks import UploadLease
from culprit.domain.messages import render_message
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.sandbox import temp_files
from culprit.infra.settings import Settings
from culprit.web.errors import (
    ConflictError,
    CulpritError,
    InvalidRequestError,
    TooLargeError,
    TooManyRequestsError,
    UnavailableError,
)
from culprit.web.http.rate_limit import RateLimiter

PREFIX = service.PUBLIC
router = APIRouter(prefix=PREFIX, include_in_schema=False)
PER_MINUTE = 30
"""Maximum number of requests of one network address per minute, including rejected ones."""

#: The address is a secret: no cache stores it, and no referrer contains it.
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
PLAIN_TEXT = "text/plain; charset=utf-8"


def build_rate_limiter(redis_url: str | None) -> RateLimiter:
    """Return the rate limit of these endpoints."""
    return RateLimiter(PER_MINUTE, "upload.too_often", redis_url)


def _limit_peer(request: Request) -> str:
    """Return the peer's address. Raises TooManyRequestsError."""
    limiter: RateLimiter = request.app.state.upload_rate_limiter
    peer = get_client_address(request) or "unknown"
    limiter.check(peer)
    return peer


def _build_refusal(error: CulpritError) -> Response:
    """Return an error as text for the console of the host."""
    headers = {**HEADERS, "Connection": "close"}
    if isinstance(error, TooManyRequestsError):
        headers["Retry-After"] = str(error.retry_after_s)
    return Response(
        render_message(error.key, error.params) + "\n", error.status, media_type=PLAIN_TEXT, headers=headers
    )


@router.get("/{token}")
def get_script(token: str, request: Request) -> Response:
    """Return the script that captures on the host and uploads the output."""
    database: Database = request.app.state.database
    try:
        _limit_peer(request)
        with unit_of_work(database.sessions) as session:
            text = service.build_script(session, request.app.state.settings, token)
    except CulpritError as error:
        return _build_refusal(error)
    return Response(text, media_type="text/x-shellscript", headers=HEADERS)


@router.put("/{token}")
async def put_bundle(token: str, request: Request) -> Response:
    """Accept one bundle. Other bodies are rejected with the remedy, and leave the address open."""
    database: Database = request.app.state.database
    config: Settings = request.app.state.settings
    ours: UploadLease | None = None
    spool: temp_files.TempPath | None = None
    try:
        peer = await run_in_threadpool(_limit_peer, request)
        ours = await run_in_threadpool(_claim_upload, database, token)
        spool = await run_in_threadpool(temp_files.create_temp_file, config.home / "work" / ours.file_name)
        await _receive_body(request, database, ours, spool.path)
        answer = await run_in_threadpool(_import_upload, database, config, ours, spool.path, peer)
        ours = None
        return answer
    except CulpritError as error:
        if ours is not None:
            await run_in_threadpool(_release_upload, database, ours, error, peer)
        return _build_refusal(error)
    except BaseException:
        if ours is not None:  # a process that is being stopped waits for nothing
            _release_upload(database, ours, ConflictError("upload.receiver_lost"), peer)
        raise
    finally:
        if spool is not None:
            await run_in_threadpool(spool.remove)


def _claim_upload(database: Database, token: str) -> UploadLease:
    if artifact_store().space().is_low:
        raise UnavailableError("capture.disk_low")
    with unit_of_work(database.sessions) as session:
        return claims.claim_upload(session, token)


async def _receive_body(request: Request, database: Database, ours: UploadLease, spool: Path) -> None:
    """Write the body to `spool` and renew the lease.

    Raises TooLargeError, InvalidRequestError, ConflictError.
    """
    received = 0
    renewed = time.monotonic()
    with await run_in_threadpool(spool.open, "wb") as file:
        try:
            async for piece in _iter_body(request):
                received += len(piece)
                if received > ours.max_bytes:
                    raise TooLargeError("upload.too_large", limit_mb=ours.max_bytes >> 20)
                await run_in_threadpool(file.write, piece)
                if time.monotonic() - renewed > claims.RENEW_EVERY_S:
                    await run_in_threadpool(_renew_lease, database, ours)
                    renewed = time.monotonic()
        except (ClientDisconnect, TimeoutError):
            raise InvalidRequestError("upload.cut", bytes=received) from None
        except HTTPException:  # from the limit of all bodies, if the address allows as much
            raise TooLargeError("upload.too_large", limit_mb=ours.max_bytes >> 20) from None
    if received == 0:
        raise InvalidRequestError("upload.empty")
    await run_in_threadpool(_renew_lease, database, ours)


async def _iter_body(request: Request) -> AsyncIterator[bytes]:
    """Yield the body as it arrives. Raises TimeoutError if it or a pause takes too long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + claims.MAX_RECEIVE_S
    stream = aiter(request.stream())
    while True:
        async with asyncio.timeout_at(min(end, loop.time() + claims.MAX_PAUSE_S)):
            piece = await anext(stream, None)
        if piece is None:
            return
        yield piece


def _renew_lease(database: Database, ours: UploadLease) -> None:
    with unit_of_work(database.sessions) as session:
        claims.renew_lease(session, ours)


def _import_upload(
    database: Database, config: Settings, ours: UploadLease, spool: Path, peer: str
) -> Response:
    with unit_of_work(database.sessions) as session:
        upload = service.import_upload(session, artifact_store(), config, ours, spool, peer)
        size = spool.stat().st_size
    url = f"{config.public_url.rstrip('/')}/runs/{upload.runs[0].id}"
    text = render_message("upload.taken", {"kb": max(1, size >> 10), "number": upload.number, "url": url})
    return Response(text + "\n", 201, media_type=PLAIN_TEXT, headers=HEADERS)


def _release_upload(database: Database, ours: UploadLease, error: CulpritError, peer: str) -> None:
    with unit_of_work(database.sessions) as session:
        claims.release_upload(session, ours, error, peer)

"""The addresses themselves: GET hands out the script, PUT takes what it saw. No account, no cookie, plain text.

A body is written to a file as it comes, and counted there: what a client states as its length is not believed.
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

from culprit.auth.dependencies import client_address
from culprit.config import Settings
from culprit.imports import upload_claims, uploads
from culprit.imports.upload_claims import Claim
from culprit.infra import held
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database
from culprit.kit.errors import Conflict, CulpritError, Invalid, TooLarge, TooMany, Unavailable
from culprit.kit.gate import Gate
from culprit.kit.sentences import say
from culprit.kit.unit_of_work import unit_of_work

PREFIX = uploads.PUBLIC
router = APIRouter(prefix=PREFIX, include_in_schema=False)
PER_MINUTE = 30
"""Requests of one network address in a minute, whether they open something or not."""

#: The address is a secret: it is kept by no cache, and no page is told where somebody came from.
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
PLAIN = "text/plain; charset=utf-8"


def gate() -> Gate:
    """What holds back who asks too often."""
    return Gate(PER_MINUTE, "upload.too_often")


def _enter(request: Request) -> str:
    """The peer's address. Raises TooMany."""
    bounded: Gate = request.app.state.upload_gate
    peer = client_address(request) or "unknown"
    bounded.enter(peer, time.monotonic())
    return peer


def _refused(error: CulpritError) -> Response:
    """In the words of the command line: whoever reads this sits at a console."""
    headers = {**HEADERS, "Connection": "close"}
    if isinstance(error, TooMany):
        headers["Retry-After"] = str(error.retry_after_s)
    return Response(say(error.key, error.params) + "\n", error.status, media_type=PLAIN, headers=headers)


@router.get("/{token}")
def get_script(token: str, request: Request) -> Response:
    """The script that looks at the host and sends what it saw here."""
    database: Database = request.app.state.database
    try:
        _enter(request)
        with unit_of_work(database.sessions) as session:
            text = uploads.script(session, request.app.state.settings, token)
    except CulpritError as error:
        return _refused(error)
    return Response(text, media_type="text/x-shellscript", headers=HEADERS)


@router.put("/{token}")
async def put_bundle(token: str, request: Request) -> Response:
    """Takes one bundle. Whatever else comes is refused with what to do, and leaves the address open."""
    database: Database = request.app.state.database
    config: Settings = request.app.state.settings
    ours: Claim | None = None
    spool: held.Held | None = None
    try:
        peer = _enter(request)
        ours = await run_in_threadpool(_claim, database, token)
        spool = await run_in_threadpool(held.new_file, config.home / "work" / ours.file_name)
        await _receive(request, database, ours, spool.path)
        answer = await run_in_threadpool(_take, database, config, ours, spool.path, peer)
        ours = None
        return answer
    except CulpritError as error:
        if ours is not None:
            await run_in_threadpool(_give_back, database, ours, error, peer)
        return _refused(error)
    except BaseException:
        if ours is not None:  # whoever is being stopped waits for nothing any more
            _give_back(database, ours, Conflict("upload.receiver_lost"), peer)
        raise
    finally:
        if spool is not None:
            await run_in_threadpool(spool.remove)


def _claim(database: Database, token: str) -> Claim:
    if artifact_store().space().low:
        raise Unavailable("capture.disk_low")
    with unit_of_work(database.sessions) as session:
        return upload_claims.claim(session, token)


async def _receive(request: Request, database: Database, ours: Claim, spool: Path) -> None:
    """Write the body to `spool`, and say meanwhile that it is still coming. Raises TooLarge, Invalid, Conflict."""
    received = 0
    renewed = time.monotonic()
    with await run_in_threadpool(spool.open, "wb") as file:
        try:
            async for piece in _pieces(request):
                received += len(piece)
                if received > ours.max_bytes:
                    raise TooLarge("upload.too_large", limit_mb=ours.max_bytes >> 20)
                await run_in_threadpool(file.write, piece)
                if time.monotonic() - renewed > upload_claims.RENEW_EVERY_S:
                    await run_in_threadpool(_renew, database, ours)
                    renewed = time.monotonic()
        except (ClientDisconnect, TimeoutError):
            raise Invalid("upload.cut", bytes=received) from None
        except HTTPException:  # of what bounds every body, where the address takes as much as that
            raise TooLarge("upload.too_large", limit_mb=ours.max_bytes >> 20) from None
    if received == 0:
        raise Invalid("upload.empty")
    await run_in_threadpool(_renew, database, ours)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The body as it comes. Raises TimeoutError for one that takes too long, or of which nothing comes for too long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + upload_claims.RECEIVE_S
    stream = aiter(request.stream())
    while True:
        async with asyncio.timeout_at(min(end, loop.time() + upload_claims.QUIET_S)):
            piece = await anext(stream, None)
        if piece is None:
            return
        yield piece


def _renew(database: Database, ours: Claim) -> None:
    with unit_of_work(database.sessions) as session:
        upload_claims.renew(session, ours)


def _take(database: Database, config: Settings, ours: Claim, spool: Path, peer: str) -> Response:
    with unit_of_work(database.sessions) as session:
        made = uploads.take(session, artifact_store(), config, ours, spool, peer)
        size = spool.stat().st_size
    url = f"{config.public_url.rstrip('/')}/runs/{made.runs[0].id}"
    text = say("upload.taken", {"kb": max(1, size >> 10), "number": made.number, "url": url})
    return Response(text + "\n", 201, media_type=PLAIN, headers=HEADERS)


def _give_back(database: Database, ours: Claim, error: CulpritError, peer: str) -> None:
    with unit_of_work(database.sessions) as session:
        upload_claims.give_back(session, ours, error, peer)

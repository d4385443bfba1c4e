"""The addresses themselves: GET hands out the script, PUT takes what it saw. No account, no cookie, plain text.

A body is written to a file as it comes, and counted there: what a client states as its length is not believed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from culprit.auth.dependencies import client_address
from culprit.config import Settings
from culprit.imports import uploads
from culprit.imports.uploads import Claim
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database
from culprit.kit.errors import CulpritError, Invalid, TooLarge, TooMany, Unavailable
from culprit.kit.gate import Gate
from culprit.kit.sentences import say
from culprit.kit.unit_of_work import unit_of_work

PREFIX = uploads.PUBLIC
router = APIRouter(prefix=PREFIX, include_in_schema=False)
PER_MINUTE = 30
"""Requests of one network address in a minute, whether they open something or not."""

HEADERS = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"}
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
    spool = config.home / "work" / f"upload-{secrets.token_hex(8)}"
    held: Claim | None = None
    try:
        peer = _enter(request)
        held = await run_in_threadpool(_claim, database, token)
        await _receive(request, held, spool)
        answer = await run_in_threadpool(_take, database, config, held, spool, peer)
        held = None
        return answer
    except CulpritError as error:
        if held is not None:
            await run_in_threadpool(_give_back, database, held, error, peer)
        return _refused(error)
    finally:
        await run_in_threadpool(spool.unlink, missing_ok=True)


def _claim(database: Database, token: str) -> Claim:
    if artifact_store().space().low:
        raise Unavailable("capture.disk_low")
    with unit_of_work(database.sessions) as session:
        return uploads.claim(session, token)


async def _receive(request: Request, held: Claim, spool: Path) -> None:
    """Write the body to `spool`. Raises TooLarge, Invalid."""
    await run_in_threadpool(spool.parent.mkdir, parents=True, exist_ok=True, mode=0o700)
    received = 0
    with await run_in_threadpool(spool.open, "xb") as file:
        try:
            async with asyncio.timeout(uploads.RECEIVE_S / 2):
                async for piece in request.stream():
                    received += len(piece)
                    if received > held.max_bytes:
                        raise TooLarge("upload.too_large", limit_mb=held.max_bytes >> 20)
                    await run_in_threadpool(file.write, piece)
        except (ClientDisconnect, TimeoutError):
            raise Invalid("upload.cut", bytes=received) from None
        except HTTPException:  # of what bounds every body, where the address takes as much as that
            raise TooLarge("upload.too_large", limit_mb=held.max_bytes >> 20) from None
    if received == 0:
        raise Invalid("upload.empty")


def _take(database: Database, config: Settings, held: Claim, spool: Path, peer: str) -> Response:
    with unit_of_work(database.sessions) as session:
        made = uploads.take(session, artifact_store(), config, held, spool, peer)
        size = spool.stat().st_size
    url = f"{config.public_url.rstrip('/')}/runs/{made.runs[0].id}"
    text = say("upload.taken", {"kb": max(1, size >> 10), "number": made.number, "url": url})
    return Response(text + "\n", 201, media_type=PLAIN, headers=HEADERS)


def _give_back(database: Database, held: Claim, error: CulpritError, peer: str) -> None:
    with unit_of_work(database.sessions) as session:
        uploads.give_back(session, held, uploads.told(error), peer)

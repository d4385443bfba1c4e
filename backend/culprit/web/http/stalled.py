"""Clients that do not take their answer: they are cut off, so that nothing is kept for them."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

#: A client that takes not one byte for so long has its connection cut.
STALLED_S = 30.0
#: The same for a stream of events, which ends soon after its reader has lost access.
STREAM_STALLED_S = 3.0
LOOK_S = 0.5
log = structlog.get_logger("culprit.http")


def cut_stalled(scope: Scope, send: Send) -> Send:
    """Return `send` with a limit on how long the client may take nothing.

    uvicorn closes a connection only after its buffer was taken, so the connection is aborted instead. Servers that do
    not show their transport (test clients) get `send` back as it is.
    """
    transport: Any = getattr(getattr(send, "__self__", None), "transport", None)
    if scope["type"] != "http" or transport is None:
        return send
    limit_s = STALLED_S

    def abort() -> None:
        log.info("client_stalled", limit_s=limit_s)
        transport.abort()

    async def guarded(message: Message) -> None:
        nonlocal limit_s
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            limit_s = STREAM_STALLED_S if kind.startswith("text/event-stream") else STALLED_S
        try:
            async with asyncio.timeout(limit_s):
                await send(message)
        except TimeoutError:
            abort()
            return
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            await _drain(transport, limit_s, abort)

    return guarded


async def _drain(transport: Any, limit_s: float, abort: Any) -> None:
    """Wait until the client has taken all of the answer, or none of it for `limit_s` seconds."""
    loop = asyncio.get_running_loop()
    pending, since = transport.get_write_buffer_size(), loop.time()
    while pending > 0:
        await asyncio.sleep(LOOK_S)
        left = transport.get_write_buffer_size()
        if left < pending:
            since = loop.time()
        elif loop.time() - since > limit_s:
            abort()
            return
        pending = left

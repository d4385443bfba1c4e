"""Disconnect clients that do not read their answer, so that no memory is held for them."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

#: Seconds without one byte read after which the connection is closed.
STALLED_S = 30.0
#: The same for an event stream, which ends soon after its reader has lost access.
STREAM_STALLED_S = 3.0
CHECK_INTERVAL_S = 0.5
log = structlog.get_logger("culprit.http")


def abort_when_stalled(scope: Scope, send: Send) -> Send:
    """Return `send` with a limit on how long the client may read nothing.

    uvicorn closes a connection only after its buffer was read, so the connection is aborted instead. For
    servers without a transport (test clients), `send` is returned unchanged.
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
            await _await_sent(transport, limit_s, abort)

    return guarded


async def _await_sent(transport: Any, limit_s: float, abort: Any) -> None:
    """Wait until the client has read the whole answer, or nothing for `limit_s` seconds."""
    loop = asyncio.get_running_loop()
    pending, since = transport.get_write_buffer_size(), loop.time()
    while pending > 0:
        await asyncio.sleep(CHECK_INTERVAL_S)
        left = transport.get_write_buffer_size()
        if left < pending:
            since = loop.time()
        elif loop.time() - since > limit_s:
            abort()
            return
        pending = left

"""Live progress as server-sent events: streams announce changes, the database is read for the content."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID

from redis.exceptions import RedisError
from sqlalchemy.orm import Session, sessionmaker
from sse_starlette import ServerSentEvent

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.accounts.live import ITERATION_MS, LiveStream
from culprit.captures import queries
from culprit.captures.schemas import CaptureResponse, RunSummary
from culprit.domain.runs.states import CAPTURE_FINAL
from culprit.infra.event_stream import EventReader

#: Seconds without updates after which a capture is read again. Lost access ends the stream earlier.
REREAD_AFTER_S = 10.0
POLL_S = 1.0
BROKER_PAUSE_S = 10.0
COMBINE_S = 0.2


async def stream_updates(
    sessions: sessionmaker[Session],
    redis_url: str,
    stream: LiveStream,
    capture_id: UUID,
    resume: str | None,
) -> AsyncIterator[ServerSentEvent]:
    """Yield events until the capture has ended or its reader has lost access.

    The database is read in threads; this coroutine waits for the stream. Each round reads the capture once
    and sends the runs that changed, independent of the number of updates: a slow client misses intermediate
    steps but never the last.
    """
    position = _StreamPosition(EventReader(redis_url, capture_id))
    sent: dict[UUID, str] = {}
    state = ""
    try:
        only = await position.begin(resume)
        while not stream.is_ended:
            actor, checked_at = stream.actor, time.monotonic()
            capture = await stream.run(_read, sessions, actor, capture_id)
            if capture is None or stream.is_ended:
                return
            for run in capture.runs:
                body = _serialize_run(run)
                if sent.get(run.id) != body and (only is None or run.id in only):
                    yield ServerSentEvent(data=body, event="run", id=position.at)
                sent[run.id] = body
            if capture.state != state:
                state = capture.state
                yield ServerSentEvent(data=f'{{"state":"{state}"}}', event="capture", id=position.at)
            if state in CAPTURE_FINAL:
                return
            only = None
            while (
                not stream.is_ended
                and stream.actor is actor
                and time.monotonic() - checked_at < REREAD_AFTER_S
            ):
                if await position.wait():
                    break
    finally:
        await position.close()


def _read(sessions: sessionmaker[Session], actor: Actor, capture_id: UUID) -> CaptureResponse | None:
    if not is_allowed(actor, "capture.read"):
        return None
    with sessions() as session:
        capture = queries.find_capture(session, actor, capture_id)
        return queries.build_captures(session, actor, [capture])[0] if capture else None


def _serialize_run(run: RunSummary) -> str:
    # The age of a running run changes with every read and is not an update.
    return run.model_copy(update={"seconds": run.seconds if run.ended_at else None}).model_dump_json()


class _StreamPosition:
    """Position of a client in the stream. Without Redis it only waits between reads of the database."""

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader
        self._paused_until = 0.0
        self.at: str | None = None

    async def begin(self, resume: str | None) -> set[UUID] | None:
        """Find the start position. Return the runs with updates since `resume`, or None for all."""
        try:
            if resume is not None and await self._reader.can_resume_after(resume):
                self.at = resume
                return await self._read(None)
            self.at = await self._reader.get_last_id()
        except (RedisError, OSError):
            self._pause_reading()
        return None

    async def wait(self) -> bool:
        """Wait for updates, and a little longer to combine them. Return whether to read the database."""
        if time.monotonic() < self._paused_until:
            await asyncio.sleep(POLL_S)
            return True
        before = self.at
        try:
            if self.at is None:
                self.at = await self._reader.get_last_id()
            await self._read(ITERATION_MS)
        except (RedisError, OSError):
            self._pause_reading()
        return self.at != before

    async def _read(self, block_ms: int | None) -> set[UUID]:
        entries = await self._reader.read_after(self.at or "0-0", block_ms)
        if entries:
            self.at = entries[-1][0]
            if block_ms is not None:
                await asyncio.sleep(COMBINE_S)
        return {UUID(entry["body"]["run"]) for _, entry in entries if entry["kind"] == "run"}

    def _pause_reading(self) -> None:
        self._paused_until = time.monotonic() + BROKER_PAUSE_S

    async def close(self) -> None:
        """Close the connection."""
        with suppress(RedisError, OSError):
            await self._reader.close()

"""Live streams: limit how many are open, and end them when the access of their reader ends.

One thread checks the access of all open streams of this process together, and reports their number to Valkey,
where all API processes count. Without Valkey, only the limits of this process apply.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar
from uuid import UUID

import structlog
from fastapi import Depends, Request
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import Select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.accounts.actor import Actor, lower_role
from culprit.accounts.dependencies import TOKEN_SUSPENSION_AFTER
from culprit.accounts.queries.logins import list_open_sessions, list_tokens
from culprit.accounts.queries.users import load_enabled_users
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.settings import Settings
from culprit.web.errors import OverloadedError, TooManyRequestsError

#: A stream ends at most CHECK_S plus one iteration (ITERATION_MS) after the access of its reader.
CHECK_S = 1.5
ITERATION_MS = 1_500
#: A stream ends if its access was not checked for this long, because the database was not available.
MAX_UNCHECKED_S = 4.5
#: Streams that a process does not report again are not counted after this time.
COUNT_EXPIRY_S = 15
RETRY_S = 30
POLL_THREADS = 3
BROKER_PAUSE_S = 10.0
log = structlog.get_logger("culprit.live")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LiveResource:
    """Object of a stream. `select_visible` selects the IDs of all visible objects of this kind."""

    id: UUID
    ids: InstrumentedAttribute[UUID]
    select_visible: Callable[[Actor], Select[UUID]]


class LiveStream:
    """An open stream. `actor` is its reader as the account is now."""

    def __init__(self, streams: LiveStreams, actor: Actor, resource: LiveResource) -> None:
        self.id = new_uuid7()
        self.actor = actor
        self.resource = resource
        self.checked_at = time.monotonic()
        self._ended = False
        self._streams = streams

    @property
    def is_ended(self) -> bool:
        """Return whether it must end: its access ended, or was not checked for MAX_UNCHECKED_S."""
        return self._ended or time.monotonic() - self.checked_at > MAX_UNCHECKED_S

    def end(self) -> None:
        """End it at its next iteration."""
        self._ended = True

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run `work` in a small thread pool, so that streams cannot use all database connections."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._streams.threads, partial(work, *arguments))


class LiveStreams:
    """The open streams of an application."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.threads = ThreadPoolExecutor(POLL_THREADS, thread_name_prefix="live-look")
        self._database = database
        self._settings = settings
        self._redis = Redis.from_url(settings.redis_url, socket_connect_timeout=1, socket_timeout=1)
        self._paused_until = 0.0
        self._lock = threading.Lock()
        self._open: dict[UUID, LiveStream] = {}
        self._checker: threading.Thread | None = None
        self._closed = threading.Event()

    def __len__(self) -> int:
        """Return how many streams are open."""
        return len(self._open)

    def open(self, actor: Actor, resource: LiveResource) -> LiveStream:
        """Register a stream. Raises TooManyRequestsError for the account, OverloadedError for the server."""
        stream = LiveStream(self, actor, resource)
        limits = self._settings
        with self._lock:
            own = sum(item.actor.id == actor.id for item in self._open.values())
            if own >= limits.streams_per_account:
                raise _build_account_error(limits)
            if len(self._open) >= limits.streams_per_process:
                raise _build_server_error(limits.streams_per_process)
            self._open[stream.id] = stream
            if self._checker is None:
                self._checker = threading.Thread(target=self._check_all, name="live-access", daemon=True)
                self._checker.start()
        counts = self._report([stream])
        if counts is not None:
            own, total = counts
            if own > limits.streams_per_account or total > limits.streams_total:
                self.close_stream(stream)
                if own > limits.streams_per_account:
                    raise _build_account_error(limits)
                raise _build_server_error(limits.streams_total)
        return stream

    def close_stream(self, stream: LiveStream) -> None:
        """Remove a stream that has ended. A thread updates Valkey; without it, the count there expires."""
        stream.end()
        with self._lock:
            if self._open.pop(stream.id, None) is None:
                return
        names = (_ALL_KEY, _get_account_key(stream))
        with suppress(RuntimeError):  # the server shuts down
            self.threads.submit(
                self._ask_valkey, lambda pipe: [pipe.zrem(name, str(stream.id)) for name in names]
            )

    def close(self) -> None:
        """End all streams at shutdown."""
        self._closed.set()
        for stream in list(self._open.values()):
            stream.end()
        self.threads.shutdown(wait=False, cancel_futures=True)
        self._redis.close()

    def _check_all(self) -> None:
        """Check periodically; the thread ends when no stream is open."""
        reported = time.monotonic()
        while not self._closed.wait(CHECK_S):
            with self._lock:
                streams = list(self._open.values())
                if not streams:
                    self._checker = None
                    return
            try:
                with self._database.sessions() as session:
                    check_access(session, streams)
            except SQLAlchemyError as error:
                log.warning("live_access_unchecked", error=type(error).__name__)
            if time.monotonic() - reported > COUNT_EXPIRY_S / 3:
                reported = time.monotonic()
                self._report(streams)

    def _report(self, streams: Sequence[LiveStream]) -> tuple[int, int] | None:
        """Count these streams for COUNT_EXPIRY_S seconds; return the totals of the last account and of all."""
        at = time.time()

        def write(pipe: Any) -> None:
            for stream in streams:
                for name in (_get_account_key(stream), _ALL_KEY):
                    pipe.zadd(name, {str(stream.id): at + COUNT_EXPIRY_S})
                    pipe.expire(name, 2 * COUNT_EXPIRY_S)
            for name in (_get_account_key(streams[-1]), _ALL_KEY):
                pipe.zremrangebyscore(name, 0, at)
                pipe.zcard(name)

        answers = self._ask_valkey(write)
        return (int(answers[-3]), int(answers[-1])) if answers else None

    def _ask_valkey(self, write: Callable[[Any], object]) -> list[Any] | None:
        if time.monotonic() < self._paused_until or self._closed.is_set():
            return None
        try:
            pipe = self._redis.pipeline()
            write(pipe)
            return list(pipe.execute())
        except (RedisError, OSError) as error:
            log.warning("live_streams_uncounted", error=type(error).__name__)
            self._paused_until = time.monotonic() + BROKER_PAUSE_S
            return None


_ALL_KEY = "live:all"


def _get_account_key(stream: LiveStream) -> str:
    return f"live:account:{stream.actor.id}"


def _build_account_error(settings: Settings) -> TooManyRequestsError:
    return TooManyRequestsError(
        "live.account_full", retry_after_s=RETRY_S, limit=settings.streams_per_account
    )


def _build_server_error(limit: int) -> OverloadedError:
    return OverloadedError("live.server_full", retry_after_s=RETRY_S, limit=limit)


def check_access(session: Session, streams: Sequence[LiveStream]) -> None:
    """End the streams whose access ended, and update role and scope of the others."""
    accounts = load_enabled_users(session, {stream.actor.id for stream in streams})
    logins = list_open_sessions(
        session, {stream.actor.session_id for stream in streams if stream.actor.session_id}
    )
    tokens = _load_token_roles(
        session, {stream.actor.token_id for stream in streams if stream.actor.token_id}
    )
    for stream in streams:
        actor, account = stream.actor, accounts.get(stream.actor.id)
        token_role = tokens.get(actor.token_id) if actor.token_id else "admin"
        if account is None or token_role is None or (actor.session_id and actor.session_id not in logins):
            stream.end()
            continue
        role = lower_role(account.role, token_role)
        if (role, account.label_scope) != (actor.role, actor.label_scope):
            stream.actor = replace(actor, role=role, label_scope=account.label_scope)
    _end_invisible(session, [stream for stream in streams if not stream.is_ended])


def _end_invisible(session: Session, streams: Sequence[LiveStream]) -> None:
    """End the streams whose object is deleted or out of scope; mark the others as checked.

    One query for all readers without a scope, and one for each reader with one, per kind of resource.
    """
    groups: dict[tuple[str, UUID | None], list[LiveStream]] = {}
    for stream in streams:
        reader = None if stream.actor.unrestricted else stream.actor.id
        groups.setdefault((str(stream.resource.ids), reader), []).append(stream)
    for group in groups.values():
        resource = group[0].resource
        query = resource.select_visible(group[0].actor)
        visible = set(session.scalars(query.where(resource.ids.in_({item.resource.id for item in group}))))
        for stream in group:
            if stream.resource.id not in visible:
                stream.end()
            stream.checked_at = time.monotonic()


def _load_token_roles(session: Session, token_ids: set[UUID]) -> dict[UUID, str]:
    """Return the roles of the tokens that are still valid."""
    at = utc_now()
    return {
        row.id: row.role
        for row in list_tokens(session, token_ids)
        if (row.expires_at is None or row.expires_at > at)
        and (row.seen_at is None or at - row.seen_at <= TOKEN_SUSPENSION_AFTER)
    }


class StreamOpener:
    """Opens the stream of one request after the route has authorized it."""

    def __init__(self, streams: LiveStreams) -> None:
        self.streams = streams
        self.stream: LiveStream | None = None

    def open(self, actor: Actor, resource: LiveResource) -> LiveStream:
        """Register a stream, see LiveStreams.open."""
        self.stream = self.streams.open(actor, resource)
        return self.stream


async def open_stream(request: Request) -> AsyncIterator[StreamOpener]:
    """Provide the opener of this request; the stream is closed after the response."""
    opener = StreamOpener(request.app.state.live)
    try:
        yield opener
    finally:
        if opener.stream is not None:
            opener.streams.close_stream(opener.stream)


# scope="request": this cleanup runs after the response, that of the database session before it.
StreamOpenerDep = Annotated[StreamOpener, Depends(open_stream, scope="request")]

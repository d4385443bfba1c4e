"""Live streams: how many may be open, and their end when the reader's access ends.

A thread checks the access of all open streams of this process together, and reports them to Valkey, where all API
processes count. Without Valkey the limits of this process hold alone.
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
from sqlalchemy import Select, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.auth.actor import Actor, lower
from culprit.auth.dependencies import TOKENS_REST_AFTER
from culprit.config import Settings
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.errors import Overloaded, TooMany
from culprit.kit.uuid7 import uuid7
from culprit.models import ApiToken, LoginSession, UserAccount, UserIdentity

#: A stream ends at most CHECK_S and one turn of its loop (TURN_MS) after the access of its reader.
CHECK_S = 1.5
TURN_MS = 1_500
#: Without a check of its access for so long, because the database is away, a stream ends.
UNCHECKED_S = 4.5
#: A stream that its process does not report again is not counted any more.
COUNTED_S = 15
RETRY_S = 30
LOOK_THREADS = 3
BROKER_PAUSE_S = 10.0
log = structlog.get_logger("culprit.live")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LiveResource:
    """What a stream shows. `select_visible` selects the ids of all that exists for an actor, of that kind."""

    id: UUID
    ids: InstrumentedAttribute[UUID]
    select_visible: Callable[[Actor], Select[UUID]]


class LiveStream:
    """One open stream. `actor` is its reader as the account is now."""

    def __init__(self, streams: LiveStreams, actor: Actor, resource: LiveResource) -> None:
        self.id = uuid7()
        self.actor = actor
        self.resource = resource
        self.checked_at = time.monotonic()
        self._ended = False
        self._streams = streams

    @property
    def ended(self) -> bool:
        """Whether it must not go on: its access is over, or was not checked for UNCHECKED_S."""
        return self._ended or time.monotonic() - self.checked_at > UNCHECKED_S

    def end(self) -> None:
        """Let it end at its next turn."""
        self._ended = True

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do `work` in a thread of the streams' own: few of them, so that streams never use up connections."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._streams.threads, partial(work, *arguments))


class LiveStreams:
    """The open streams of one application."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.threads = ThreadPoolExecutor(LOOK_THREADS, thread_name_prefix="live-look")
        self._database = database
        self._settings = settings
        self._redis = Redis.from_url(settings.redis_url, socket_connect_timeout=1, socket_timeout=1)
        self._away_until = 0.0
        self._lock = threading.Lock()
        self._open: dict[UUID, LiveStream] = {}
        self._checker: threading.Thread | None = None
        self._closed = threading.Event()

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._open)

    def open(self, actor: Actor, resource: LiveResource) -> LiveStream:
        """Register a stream. Raises TooMany for the account, Overloaded for the server."""
        stream = LiveStream(self, actor, resource)
        limits = self._settings
        with self._lock:
            own = sum(one.actor.id == actor.id for one in self._open.values())
            if own >= limits.streams_per_account:
                raise _account_full(limits)
            if len(self._open) >= limits.streams_per_process:
                raise _server_full(limits.streams_per_process)
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
                    raise _account_full(limits)
                raise _server_full(limits.streams_total)
        return stream

    def close_stream(self, stream: LiveStream) -> None:
        """Forget a stream that has ended. Valkey is told in a thread; where that fails, it forgets by itself."""
        stream.end()
        with self._lock:
            if self._open.pop(stream.id, None) is None:
                return
        names = (_ALL, _of_account(stream))
        with suppress(RuntimeError):  # the server stops
            self.threads.submit(
                self._ask_valkey, lambda pipe: [pipe.zrem(name, str(stream.id)) for name in names]
            )

    def close(self) -> None:
        """End all streams: the server stops."""
        self._closed.set()
        for stream in list(self._open.values()):
            stream.end()
        self.threads.shutdown(wait=False, cancel_futures=True)
        self._redis.close()

    def _check_all(self) -> None:
        """The thread: ends when no stream is open any more."""
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
            if time.monotonic() - reported > COUNTED_S / 3:
                reported = time.monotonic()
                self._report(streams)

    def _report(self, streams: Sequence[LiveStream]) -> tuple[int, int] | None:
        """Count these streams for another COUNTED_S seconds; return how many the last one's account and all have."""
        at = time.time()

        def write(pipe: Any) -> None:
            for stream in streams:
                for name in (_of_account(stream), _ALL):
                    pipe.zadd(name, {str(stream.id): at + COUNTED_S})
                    pipe.expire(name, 2 * COUNTED_S)
            for name in (_of_account(streams[-1]), _ALL):
                pipe.zremrangebyscore(name, 0, at)
                pipe.zcard(name)

        answers = self._ask_valkey(write)
        return (int(answers[-3]), int(answers[-1])) if answers else None

    def _ask_valkey(self, write: Callable[[Any], object]) -> list[Any] | None:
        if time.monotonic() < self._away_until or self._closed.is_set():
            return None
        try:
            pipe = self._redis.pipeline()
            write(pipe)
            return list(pipe.execute())
        except (RedisError, OSError) as error:
            log.warning("live_streams_uncounted", error=type(error).__name__)
            self._away_until = time.monotonic() + BROKER_PAUSE_S
            return None


_ALL = "live:all"


def _of_account(stream: LiveStream) -> str:
    return f"live:account:{stream.actor.id}"


def _account_full(settings: Settings) -> TooMany:
    return TooMany("live.account_full", retry_after_s=RETRY_S, limit=settings.streams_per_account)


def _server_full(limit: int) -> Overloaded:
    return Overloaded("live.server_full", retry_after_s=RETRY_S, limit=limit)


def check_access(session: Session, streams: Sequence[LiveStream]) -> None:
    """End the streams whose access is over, and give the others the present role and scope of their reader."""
    accounts = {
        row.id: row
        for row in session.scalars(
            select(UserAccount).where(
                UserAccount.id.in_({one.actor.id for one in streams}), UserAccount.disabled_at.is_(None)
            )
        )
    }
    logins = set(
        session.scalars(
            select(LoginSession.id).where(
                LoginSession.id.in_({one.actor.session_id for one in streams if one.actor.session_id}),
                LoginSession.expires_at > now(),
            )
        )
    )
    tokens = _token_roles(session, {one.actor.token_id for one in streams if one.actor.token_id})
    for stream in streams:
        actor, account = stream.actor, accounts.get(stream.actor.id)
        token_role = tokens.get(actor.token_id) if actor.token_id else "admin"
        if account is None or token_role is None or (actor.session_id and actor.session_id not in logins):
            stream.end()
            continue
        role = lower(account.role, token_role)
        if (role, account.label_scope) != (actor.role, actor.label_scope):
            stream.actor = replace(actor, role=role, label_scope=account.label_scope)
    _end_invisible(session, [stream for stream in streams if not stream.ended])


def _end_invisible(session: Session, streams: Sequence[LiveStream]) -> None:
    """End the streams whose resource is deleted or out of the reader's scope; the others are checked.

    One query for all readers without a scope, and one for each reader with one, per kind of resource.
    """
    groups: dict[tuple[str, UUID | None], list[LiveStream]] = {}
    for stream in streams:
        reader = None if stream.actor.unrestricted else stream.actor.id
        groups.setdefault((str(stream.resource.ids), reader), []).append(stream)
    for group in groups.values():
        resource = group[0].resource
        query = resource.select_visible(group[0].actor)
        visible = set(session.scalars(query.where(resource.ids.in_({one.resource.id for one in group}))))
        for stream in group:
            if stream.resource.id not in visible:
                stream.end()
            stream.checked_at = time.monotonic()


def _token_roles(session: Session, token_ids: set[UUID]) -> dict[UUID, str]:
    """The roles of those tokens that are still accepted."""
    rows = session.execute(
        select(ApiToken.id, ApiToken.role, ApiToken.expires_at, UserIdentity.seen_at)
        .outerjoin(UserIdentity, UserIdentity.user_id == ApiToken.user_id)
        .where(ApiToken.id.in_(token_ids), ApiToken.revoked_at.is_(None))
    )
    at = now()
    return {
        row.id: row.role
        for row in rows
        if (row.expires_at is None or row.expires_at > at)
        and (row.seen_at is None or at - row.seen_at <= TOKENS_REST_AFTER)
    }


class StreamOpener:
    """Opens the stream of one request, after the route has decided that its reader may have it."""

    def __init__(self, streams: LiveStreams) -> None:
        self.streams = streams
        self.stream: LiveStream | None = None

    def open(self, actor: Actor, resource: LiveResource) -> LiveStream:
        """See LiveStreams.open."""
        self.stream = self.streams.open(actor, resource)
        return self.stream


async def open_stream(request: Request) -> AsyncIterator[StreamOpener]:
    """What opens a stream of this request; the stream is closed after its answer, however that ends."""
    opener = StreamOpener(request.app.state.live)
    try:
        yield opener
    finally:
        if opener.stream is not None:
            opener.streams.close_stream(opener.stream)


# scope="request": its end comes after the answer, where that of the database session came before it.
Opener = Annotated[StreamOpener, Depends(open_stream, scope="request")]

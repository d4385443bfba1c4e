"""Live news of an incident as server-sent events: what the stream says is new, the database says what it is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID

from redis.exceptions import RedisError
from sqlalchemy.orm import Session, sessionmaker
from sse_starlette import ServerSentEvent

from culprit.auth.actor import Actor
from culprit.auth.live import TURN_MS, LiveStream
from culprit.auth.policy import allowed
from culprit.incidents import journal, queries
from culprit.incidents.read import HERE
from culprit.infra.progress import Reader
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work

#: Without news an incident is read again after this time: runs change without news here, and its reader stays present.
#: Lost access ends the stream sooner (culprit.auth.live).
LOOK_S = 8.0
POLL_S = 2.0
BROKER_PAUSE_S = 10.0
Events = dict[str, str]


async def watch(
    sessions: sessionmaker[Session], redis_url: str, stream: LiveStream, incident_id: UUID
) -> AsyncIterator[ServerSentEvent]:
    """Events until the reader goes or loses access: `version`, `presence` and `runs`, each when it changed. The
    database is read in threads; without the broker it is asked every few seconds.
    """
    bell = _Bell(Reader(redis_url, incident_id))
    sent: Events = {}
    try:
        await bell.begin()
        while not stream.ended:
            actor, looked_at = stream.actor, time.monotonic()
            told = await stream.run(look, sessions, actor, incident_id)
            if told is None or stream.ended:
                return
            for event, body in told.items():
                if sent.get(event) != body:
                    yield ServerSentEvent(data=body, event=event)
            sent = told
            while not stream.ended and stream.actor is actor and time.monotonic() - looked_at < LOOK_S:
                if await bell.wait():
                    break
    finally:
        await bell.close()


async def list_events(told: Events) -> AsyncIterator[ServerSentEvent]:
    """The events of one look, for readers that hold no stream open."""
    for event, body in told.items():
        yield ServerSentEvent(data=body, event=event)


def look(sessions: sessionmaker[Session], actor: Actor, incident_id: UUID) -> Events | None:
    """What there is to tell, and a note that this person looks on; None where it does not exist for them (any more)."""
    if not allowed(actor, "incident.read"):
        return None
    with unit_of_work(sessions) as session:
        incident = queries.incident(session, actor, incident_id)
        if incident is None:
            return None
        if not journal.looked(session, incident.id, actor.id):
            journal.join(session, incident.id, actor.id)
        at = now()
        people = [one for one in queries.participants(session, incident.id) if at - one.seen_at < HERE]
        names = queries.names(session, (one.user_id for one in people))
        seen = {host.id for _, host in queries.hosts(session, actor, incident.id)}
        here = [{"id": str(one.user_id), "name": names[one.user_id]} for one in people]
        runs = [
            {"run_id": str(one.run_id), "capture_id": str(one.capture_id), "state": one.state}
            for one in queries.runs(session, incident.id)
            if one.host_id is None or one.host_id in seen
        ]
        return {
            "version": json.dumps({"version": incident.version, "state": incident.state}),
            "presence": json.dumps({"people": here}),
            "runs": json.dumps({"runs": runs}),
        }


class _Bell:
    """Waits for news; while the broker is away it merely lets time pass."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._at: str | None = None
        self._away_until = 0.0

    async def begin(self) -> None:
        """From here on everything is new."""
        try:
            self._at = await self._reader.tail()
        except (RedisError, OSError):
            self._away_until = time.monotonic() + BROKER_PAUSE_S

    async def wait(self) -> bool:
        """Wait for news for one turn. Whether it is time for a look."""
        if time.monotonic() < self._away_until:
            await asyncio.sleep(POLL_S)
            return True
        try:
            if self._at is None:
                self._at = await self._reader.tail()
            entries = await self._reader.after(self._at, TURN_MS)
        except (RedisError, OSError):
            self._away_until = time.monotonic() + BROKER_PAUSE_S
            return False
        if entries:
            self._at = entries[-1][0]
        return bool(entries)

    async def close(self) -> None:
        """Gives the connection back."""
        with suppress(RedisError, OSError):
            await self._reader.close()

"""Send updates of an incident as server-sent events. A stream message triggers a reload from the database."""

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

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.accounts.live import ITERATION_MS, LiveStream
from culprit.incidents.records import journal, queries
from culprit.incidents.responses.incident import PRESENCE_TIMEOUT
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import EventReader

#: An incident is reloaded after this time without a message: states of runs send none, and presence must be renewed.
#: Lost access ends the stream sooner (culprit.accounts.live).
RELOAD_S = 8.0
POLL_S = 2.0
BROKER_PAUSE_S = 10.0
Events = dict[str, str]


async def stream_updates(
    sessions: sessionmaker[Session], redis_url: str, stream: LiveStream, incident_id: UUID
) -> AsyncIterator[ServerSentEvent]:
    """Yield `version`, `presence` and `runs`, each after a change, until the reader leaves or loses access.

    The database is read in threads; without the broker it is polled every few seconds.
    """
    waiter = _ChangeWaiter(EventReader(redis_url, incident_id))
    sent: Events = {}
    try:
        await waiter.begin()
        while not stream.is_ended:
            actor, checked_at = stream.actor, time.monotonic()
            reported = await stream.run(load_events, sessions, actor, incident_id)
            if reported is None or stream.is_ended:
                return
            for event, body in reported.items():
                if sent.get(event) != body:
                    yield ServerSentEvent(data=body, event=event)
            sent = reported
            while not stream.is_ended and stream.actor is actor and time.monotonic() - checked_at < RELOAD_S:
                if await waiter.wait():
                    break
    finally:
        await waiter.close()


async def send_events(events: Events) -> AsyncIterator[ServerSentEvent]:
    """Yield the current events, for clients that keep no stream open."""
    for event, body in events.items():
        yield ServerSentEvent(data=body, event=event)


def load_events(sessions: sessionmaker[Session], actor: Actor, incident_id: UUID) -> Events | None:
    """Return the current events and record the presence of the actor; None if the incident is not visible."""
    if not is_allowed(actor, "incident.read"):
        return None
    with unit_of_work(sessions) as session:
        incident = queries.find_incident(session, actor, incident_id)
        if incident is None:
            return None
        if not journal.touch_participant(session, incident.id, actor.id):
            journal.add_participant(session, incident.id, actor.id)
        at = utc_now()
        people = [
            participant
            for participant in queries.list_participants(session, incident.id)
            if at - participant.seen_at < PRESENCE_TIMEOUT
        ]
        names = queries.load_user_names(session, (person.user_id for person in people))
        seen = {host.id for _, host in queries.list_hosts(session, actor, incident.id)}
        here = [{"id": str(person.user_id), "name": names[person.user_id]} for person in people]
        runs = [
            {"run_id": str(run.run_id), "capture_id": str(run.capture_id), "state": run.state}
            for run in queries.list_runs(session, incident.id)
            if run.host_id is None or run.host_id in seen
        ]
        return {
            "version": json.dumps({"version": incident.version, "state": incident.state}),
            "presence": json.dumps({"people": here}),
            "runs": json.dumps({"runs": runs}),
        }


class _ChangeWaiter:
    """Wait for messages; poll while the broker is unavailable."""

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader
        self._at: str | None = None
        self._paused_until = 0.0

    async def begin(self) -> None:
        """Start at the end of the stream."""
        try:
            self._at = await self._reader.get_last_id()
        except (RedisError, OSError):
            self._paused_until = time.monotonic() + BROKER_PAUSE_S

    async def wait(self) -> bool:
        """Wait for one interval. Return whether the incident must be reloaded."""
        if time.monotonic() < self._paused_until:
            await asyncio.sleep(POLL_S)
            return True
        try:
            if self._at is None:
                self._at = await self._reader.get_last_id()
            entries = await self._reader.read_after(self._at, ITERATION_MS)
        except (RedisError, OSError):
            self._paused_until = time.monotonic() + BROKER_PAUSE_S
            return False
        if entries:
            self._at = entries[-1][0]
        return bool(entries)

    async def close(self) -> None:
        """Close the connection."""
        with suppress(RedisError, OSError):
            await self._reader.close()

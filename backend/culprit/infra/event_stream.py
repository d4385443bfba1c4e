"""Live updates of running captures: one Redis stream per capture.

Delivery is best effort. The database holds all state; a stream entry only announces a change. Without Redis,
readers poll the database.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import redis
import structlog
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from culprit.infra.settings import get_settings

MAX_ENTRIES = 2000
RETENTION_S = 6 * 3600
PUBLISH_PAUSE_S = 5.0
_ENTRY_ID = re.compile(r"\d{1,20}-\d{1,20}\Z")
log = structlog.get_logger("culprit.progress")

StreamEntry = dict[str, Any]


def get_stream_name(capture_id: UUID) -> str:
    """Return the name of a capture's stream."""
    return f"progress:capture:{capture_id}"


class EventPublisher:
    """Publish live updates. After a failure it pauses for some seconds, so that no work waits for Redis."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1)
        self._lock = threading.Lock()
        self._paused_until = 0.0

    def publish(self, capture_id: UUID, kind: str, body: Mapping[str, Any]) -> bool:
        """Add one entry; return False if it was not sent."""
        if time.monotonic() < self._paused_until:
            return False
        name = get_stream_name(capture_id)
        fields: Any = {"kind": kind, "body": json.dumps(body, default=str)}
        try:
            pipe = self._redis.pipeline(transaction=False)
            pipe.xadd(name, fields, maxlen=MAX_ENTRIES, approximate=True)
            pipe.expire(name, RETENTION_S)
            pipe.execute()
        except (RedisError, OSError) as error:
            log.warning("live_update_lost", error=type(error).__name__)
            with self._lock:
                self._paused_until = time.monotonic() + PUBLISH_PAUSE_S
            return False
        return True

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()


class EventReader:
    """Read the live updates of one capture. Raises RedisError or OSError if Redis is unreachable."""

    def __init__(self, url: str, capture_id: UUID) -> None:
        self._redis = AsyncRedis.from_url(url, socket_connect_timeout=1, socket_timeout=30)
        self._name = get_stream_name(capture_id)

    async def get_last_id(self) -> str:
        """Return the ID of the last entry."""
        last: Any = await self._redis.xrevrange(self._name, count=1)
        return last[0][0].decode() if last else "0-0"

    async def can_resume_after(self, entry_id: str) -> bool:
        """Return whether no entry after this one was trimmed, so that reading can continue from it."""
        if not _ENTRY_ID.match(entry_id):
            return False
        first: Any = await self._redis.xrange(self._name, count=1)
        if not first:
            return False
        return _parse_entry_id(first[0][0].decode()) <= _parse_entry_id(entry_id)

    async def read_after(self, entry_id: str, block_ms: int | None) -> list[tuple[str, StreamEntry]]:
        """Return the entries after `entry_id`. Wait up to `block_ms` for the first one; None does not wait."""
        answer: Any = await self._redis.xread({self._name: entry_id}, count=500, block=block_ms)
        entries: Any = (
            next(iter(answer.values()))[0]
            if isinstance(answer, dict) and answer
            else (answer[0][1] if answer else [])
        )
        return [
            (key.decode(), {"kind": fields[b"kind"].decode(), "body": json.loads(fields[b"body"])})
            for key, fields in entries
        ]

    async def close(self) -> None:
        """Close the connection."""
        await self._redis.aclose()


def _parse_entry_id(entry_id: str) -> tuple[int, int]:
    ms, _, count = entry_id.partition("-")
    return int(ms), int(count)


@lru_cache(maxsize=1)
def get_event_publisher() -> EventPublisher:
    """Return the publisher of this process."""
    return EventPublisher(get_settings().redis_url)

"""Rate limits per name (an address, an account), shared by all processes in Valkey."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis import ConnectionPool, RedisError

from culprit.web.errors import TooManyRequestsError

REDIS_TIMEOUT_S = 1.0


class RateLimiter:
    """Limit requests per name and minute. Without Valkey, each process counts its own requests.

    `message_key` is the message of the refusal, and the namespace of the counters.
    """

    def __init__(self, per_minute: int, message_key: str, redis_url: str | None = None) -> None:
        self.message_key = message_key
        self._item = RateLimitItemPerMinute(per_minute)
        self._local = FixedWindowRateLimiter(MemoryStorage())
        self._shared = _connect(redis_url) if redis_url else None

    def check(self, name: str) -> None:
        """Count one request. Raises TooManyRequestsError above the limit."""
        if self._shared is not None:
            try:
                self._count_request(self._shared, name)
            except (RedisError, OSError):
                pass
            else:
                return
        self._count_request(self._local, name)

    def _count_request(self, limiter: FixedWindowRateLimiter, name: str) -> None:
        if not limiter.hit(self._item, self.message_key, name):
            reset_at = limiter.get_window_stats(self._item, self.message_key, name).reset_time
            raise TooManyRequestsError(
                self.message_key, retry_after_s=max(1, math.ceil(reset_at - time.time()))
            )


def _connect(redis_url: str) -> FixedWindowRateLimiter | None:
    """Return a limiter in Valkey, or None if it does not answer."""
    pool = ConnectionPool.from_url(
        redis_url, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    )
    try:
        return FixedWindowRateLimiter(RedisStorage("redis://", connection_pool=pool))
    except (RedisError, OSError):
        return None

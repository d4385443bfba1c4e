"""Limit the number of requests that use the database at the same time.

The others wait in order, without a thread or connection.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque

from sqlalchemy.exc import TimeoutError as PoolTimeout

MAX_WAITING = 1000
WAIT_S = 5.0


class DatabaseBusyError(PoolTimeout):
    """No connection within the time that a request may wait, like an exhausted pool."""


class Slot:
    """The right to use one database connection. `release` may be called from any thread, and twice."""

    def __init__(self, slots: RequestSlots) -> None:
        self._slots: RequestSlots | None = slots

    def release(self) -> None:
        """Pass the slot to the request that has waited longest."""
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.grant_next()


class RequestSlots:
    """Slots for requests that use the database at the same time.

    A request without a slot waits in the event loop: it holds no thread and no connection. Otherwise requests
    with a connection would wait for a thread while every thread waits for a connection.
    """

    def __init__(self, count: int, *, max_waiting: int = MAX_WAITING, wait_s: float = WAIT_S) -> None:
        self.count = count
        self.max_waiting = max_waiting
        self.wait_s = wait_s
        self._lock = threading.Lock()
        self._free = count
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @property
    def used(self) -> int:
        """Return the number of slots in use."""
        return self.count - self._free

    async def acquire(self) -> Slot:
        """Return a slot, in the order of arrival. Raises DatabaseBusyError after `wait_s` seconds."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return Slot(self)
            if len(self._waiting) >= self.max_waiting:
                raise DatabaseBusyError("all database connections are in use")
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, turn))
        try:
            async with asyncio.timeout(self.wait_s):
                await turn
        except BaseException as error:
            self._stop_waiting(loop, turn)
            if isinstance(error, TimeoutError):
                raise DatabaseBusyError("all database connections are in use") from None
            raise
        return Slot(self)

    def grant_next(self) -> None:
        """Give one slot to the next waiting request, or keep it free."""
        with self._lock:
            while self._waiting:
                loop, turn = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_grant, turn)
                except RuntimeError:  # its event loop is closed
                    continue
                return
            self._free += 1

    def _stop_waiting(self, loop: asyncio.AbstractEventLoop, turn: asyncio.Future[None]) -> None:
        with self._lock:
            try:
                self._waiting.remove((loop, turn))
                return
            except ValueError:
                pass
        self.grant_next()  # the slot was granted while the request stopped waiting


def _grant(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)

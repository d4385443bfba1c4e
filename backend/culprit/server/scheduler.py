"""The process that sweeps, and starts what is due: `python -m culprit.scheduler`. Any number of them may run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable

import structlog
from redis import Redis
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from culprit.config import settings
from culprit.infra.artifacts import artifact_store
from culprit.infra.db import Database, database
from culprit.infra.progress import publisher
from culprit.kit import logs
from culprit.workflows.annotate import survey
from culprit.workflows.fire_schedules import fire_due
from culprit.workflows.sweep import sweep
from culprit.workflows.worker_states import gone, seen, touch_alive_file

TICK_S = 2.0
# After the database was away, workers that still hold a session get this long to renew their leases.
GRACE_S = 15.0
SEEN_EVERY_S = 10.0
SURVEY_EVERY_S = 10.0
log = structlog.get_logger("culprit.scheduler")


def main() -> None:
    """Sweeps until SIGTERM or SIGINT."""
    config = settings()
    logs.configure(config.log_level)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    redis = Redis.from_url(config.redis_url, socket_connect_timeout=2, socket_timeout=2)
    Scheduler(database(), redis).run(stop)


class Scheduler:
    """A loop with a memory: when the database was last away, and when it last said that it lives."""

    def __init__(self, db: Database, redis: Redis) -> None:
        self.db = db
        self.redis = redis
        self.name = f"scheduler@{socket.gethostname()}:{os.getpid()}"
        self._patient_until = 0.0
        self._seen_at = 0.0
        self._surveyed_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Ticks until `stop`."""
        log.info("scheduler_started", name=self.name)
        while not stop.wait(TICK_S):
            self.tick()
        with contextlib.suppress(DBAPIError, PoolTimeout):
            gone(self.db, self.name)

    def tick(self) -> None:
        """One round; a database that is away is waited for, and a step that fails does not keep the others back."""
        steps: list[Callable[[], None]] = [self._note_seen]
        if time.monotonic() >= self._patient_until:
            steps += [self._sweep, self._fire, self._survey]
        for step in steps:
            try:
                step()
            except (DBAPIError, PoolTimeout) as error:
                log.warning("database_away", error=type(error).__name__)
                self._patient_until = time.monotonic() + GRACE_S
                return
            except Exception as error:
                log.error("scheduler_step_failed", step=step.__name__, exc_info=error)

    def _note_seen(self) -> None:
        now = time.monotonic()
        if now - self._seen_at > SEEN_EVERY_S:
            touch_alive_file()
            seen(self.db, self.name, {})
            self._seen_at = now

    def _sweep(self) -> None:
        sweep(self.db, self.redis, publisher())

    def _fire(self) -> None:
        fire_due(self.db, artifact_store(), self.name)

    def _survey(self) -> None:
        now = time.monotonic()
        if now - self._surveyed_at > SURVEY_EVERY_S:
            self._surveyed_at = now
            survey(self.db)


if __name__ == "__main__":
    main()

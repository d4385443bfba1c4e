"""The scheduler process: `python -m culprit.server.scheduler`. Several may run.

It sweeps, starts due schedules, and checks stored files in a thread of the lowest priority.
"""

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

from culprit.infra import logging
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.schema_version import NewerSchemaError, check_schema
from culprit.infra.db.session import Database, get_database
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.settings import get_settings
from culprit.jobs import registry
from culprit.jobs.notifications.send_annotation import sync_annotations
from culprit.jobs.system.check_files import CheckStoppedError, check_slice
from culprit.jobs.system.clock_steps import DatabaseClock
from culprit.jobs.system.fire_schedules import start_all_due
from culprit.jobs.system.heartbeats import record_heartbeat, remove_heartbeat, touch_alive_file
from culprit.jobs.system.sweep import run_sweep

TICK_S = 2.0
# After a database outage, workers that still have a session get this long to renew their leases.
GRACE_S = 15.0
HEARTBEAT_EVERY_S = 10.0
ANNOTATIONS_EVERY_S = 10.0
FILE_CHECK_PAUSE_S = 1.0
log = structlog.get_logger("culprit.server.scheduler")


def main() -> None:
    """Run the scheduler until SIGTERM or SIGINT."""
    config = get_settings()
    logging.configure_logging(config.log_level)
    registry.install_routes()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    redis = Redis.from_url(config.redis_url, socket_connect_timeout=2, socket_timeout=2)
    checking = threading.Thread(target=repeat_file_checks, args=(get_database(), stop), daemon=True)
    checking.start()
    Scheduler(get_database(), redis).run(stop)
    checking.join(timeout=5)


def repeat_file_checks(db: Database, stop: threading.Event) -> None:
    """Check stored files in slices until `stop`, in a thread of the lowest priority."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    while not stop.wait(FILE_CHECK_PAUSE_S):
        try:
            check_slice(db, artifact_store(), get_settings().file_check_hours, stop)
        except CheckStoppedError:
            return
        except (DBAPIError, PoolTimeout) as error:
            log.warning("database_away", error=type(error).__name__)
        except Exception as error:
            log.error("file_check_failed", exc_info=error)


class Scheduler:
    """The loop of the scheduler, with the times of its last heartbeat and of the last database outage."""

    def __init__(self, db: Database, redis: Redis) -> None:
        self.db = db
        self.redis = redis
        self.clock = DatabaseClock()
        self.name = f"scheduler@{socket.gethostname()}:{os.getpid()}"
        self._paused_until = 0.0
        self._heartbeat_at = 0.0
        self._annotations_at = 0.0
        self._is_schema_checked = False

    def run(self, stop: threading.Event) -> None:
        """Run a round every TICK_S seconds until `stop`."""
        log.info("scheduler_started", name=self.name)
        while not stop.wait(TICK_S):
            self.tick()
        with contextlib.suppress(DBAPIError, PoolTimeout):
            remove_heartbeat(self.db, self.name)

    def tick(self) -> None:
        """Run one round. A failed step does not stop the others; a database outage pauses all of them."""
        steps: list[Callable[[], None]] = [self._check_schema, self._record_heartbeat]
        if time.monotonic() >= self._paused_until:
            steps += [self._sweep, self._fire_schedules, self._sync_annotations]
        for step in steps:
            try:
                step()
            except (DBAPIError, PoolTimeout) as error:
                log.warning("database_away", error=type(error).__name__)
                self._paused_until = time.monotonic() + GRACE_S
                return
            except Exception as error:
                log.error("scheduler_step_failed", step=step.__name__, exc_info=error)

    def _check_schema(self) -> None:
        """End this process if the tables are newer; repeated until the database has answered once."""
        if self._is_schema_checked:
            return
        try:
            check_schema(self.db)
        except NewerSchemaError as error:
            raise SystemExit(str(error)) from None
        self._is_schema_checked = True

    def _record_heartbeat(self) -> None:
        now = time.monotonic()
        if now - self._heartbeat_at > HEARTBEAT_EVERY_S:
            touch_alive_file()
            record_heartbeat(self.db, self.name, {})
            self._heartbeat_at = now

    def _sweep(self) -> None:
        run_sweep(self.db, self.redis, get_event_publisher(), self.clock)

    def _fire_schedules(self) -> None:
        start_all_due(self.db, artifact_store(), self.name)

    def _sync_annotations(self) -> None:
        now = time.monotonic()
        if now - self._annotations_at > ANNOTATIONS_EVERY_S:
            self._annotations_at = now
            sync_annotations(self.db)


if __name__ == "__main__":
    main()

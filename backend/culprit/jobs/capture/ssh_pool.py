"""The SSH pool of a worker process: its fork server, its name, and the runs and watchers it works on."""

from __future__ import annotations

import os
import socket
import threading
import time
from functools import lru_cache
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from culprit.infra.db.session import get_database
from culprit.infra.sandbox.fork_server import ForkServer
from culprit.jobs.capture.queries import load_canceled_ids

SESSION = "culprit.jobs.capture.session:run"
POLL_INTERVAL_S = 0.5
log = structlog.get_logger("culprit.crew")


class SshPool:
    """Shared by all tasks of a worker process. Call `start` before the first task and `stop` after the last."""

    def __init__(self) -> None:
        self.name = f"worker@{socket.gethostname()}:{os.getpid()}"
        self.server = ForkServer([SESSION])
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._working: set[UUID] = set()
        self._watching: set[UUID] = set()
        self._canceled: set[UUID] = set()
        self._listener: threading.Thread | None = None

    def start(self) -> None:
        """Start the fork server and the thread that reads cancellations."""
        self.server.start()
        with self._lock:
            if self._listener is None:
                self._listener = threading.Thread(
                    target=self._poll_cancellations, name="cancellations", daemon=True
                )
                self._listener.start()

    def stop(self) -> None:
        """End all sessions; their runs return to the queue."""
        self.stopping.set()
        if self._listener is not None:
            self._listener.join(5)
        self.server.stop()

    def register_run(self, run_id: UUID) -> None:
        """Watch for the cancellation of a run."""
        with self._lock:
            self._working.add(run_id)

    def register_watcher(self, watcher_id: UUID) -> None:
        """Watch for the cancellation of a watcher. Watchers do not count as runs in work."""
        with self._lock:
            self._watching.add(watcher_id)

    def unregister(self, row_id: UUID) -> None:
        """Stop watching for the cancellation of a run or watcher."""
        with self._lock:
            self._working.discard(row_id)
            self._watching.discard(row_id)
            self._canceled.discard(row_id)

    def is_canceled(self, row_id: UUID) -> bool:
        """Return whether a user has canceled this run or watcher."""
        with self._lock:
            return row_id in self._canceled

    @property
    def active_runs(self) -> int:
        """The number of runs in work."""
        with self._lock:
            return len(self._working)

    def _poll_cancellations(self) -> None:
        while not self.stopping.wait(POLL_INTERVAL_S):
            with self._lock:
                working, watching = list(self._working), list(self._watching)
            if not working and not watching:
                continue
            try:
                with get_database().sessions() as session:
                    canceled = load_canceled_ids(session, working, watching)
            except SQLAlchemyError as error:
                log.warning("database_away", error=type(error).__name__)
                time.sleep(1)
                continue
            except Exception as error:  # the thread must not end: nothing restarts it
                log.error("cancellations_not_read", exc_info=error)
                time.sleep(1)
                continue
            with self._lock:
                self._canceled |= canceled & (self._working | self._watching)


@lru_cache(maxsize=1)
def get_ssh_pool() -> SshPool:
    """Return the SSH pool of this process."""
    return SshPool()

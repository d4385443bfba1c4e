"""What one worker process has for its SSH work: a fork server, a name, and an ear for cancellations."""

from __future__ import annotations

import os
import socket
import threading
import time
from functools import lru_cache
from uuid import UUID

import structlog
from sqlalchemy import Select, select
from sqlalchemy.exc import SQLAlchemyError

from culprit.infra.db import database
from culprit.infra.forkserver import ForkServer
from culprit.models import Run, Standby

SESSION = "culprit.workflows.session:run"
LISTEN_EVERY_S = 0.5
log = structlog.get_logger("culprit.crew")


class Crew:
    """Shared by all tasks of a worker process; `start` before the first, `stop` after the last."""

    def __init__(self) -> None:
        self.name = f"worker@{socket.gethostname()}:{os.getpid()}"
        self.server = ForkServer([SESSION])
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._working: set[UUID] = set()
        self._watching: set[UUID] = set()
        self._cancelled: set[UUID] = set()
        self._ear: threading.Thread | None = None

    def start(self) -> None:
        """Starts the fork server and the ear."""
        self.server.start()
        with self._lock:
            if self._ear is None:
                self._ear = threading.Thread(target=self._listen, name="cancellations", daemon=True)
                self._ear.start()

    def stop(self) -> None:
        """Ends all sessions; their runs go back into the queue."""
        self.stopping.set()
        if self._ear is not None:
            self._ear.join(5)
        self.server.stop()

    def begin(self, run_id: UUID) -> None:
        """From now on cancellations of this run are listened for."""
        with self._lock:
            self._working.add(run_id)

    def begin_watching(self, standby_id: UUID) -> None:
        """The same for a standby, which is no work: it keeps nobody from capturing."""
        with self._lock:
            self._watching.add(standby_id)

    def end(self, one: UUID) -> None:
        """This run or standby is over."""
        with self._lock:
            self._working.discard(one)
            self._watching.discard(one)
            self._cancelled.discard(one)

    def cancelled(self, one: UUID) -> bool:
        """Whether somebody has called this run or standby off."""
        with self._lock:
            return one in self._cancelled

    @property
    def busy(self) -> int:
        """How many runs are worked on."""
        with self._lock:
            return len(self._working)

    def _listen(self) -> None:
        while not self.stopping.wait(LISTEN_EVERY_S):
            with self._lock:
                working, watching = list(self._working), list(self._watching)
            queries: list[Select[UUID]] = []
            if working:
                queries.append(
                    select(Run.id).where(Run.id.in_(working), Run.cancel_requested_at.is_not(None))
                )
            if watching:
                ended = Standby.cancel_requested_at.is_not(None)
                queries.append(select(Standby.id).where(Standby.id.in_(watching), ended))
            if not queries:
                continue
            try:
                with database().sessions() as session:
                    called_off = {one for query in queries for one in session.scalars(query)}
            except SQLAlchemyError as error:
                log.warning("database_away", error=type(error).__name__)
                time.sleep(1)
                continue
            except Exception as error:  # a thread that ended would never hear of a cancellation again
                log.error("cancellations_not_read", exc_info=error)
                time.sleep(1)
                continue
            with self._lock:
                self._cancelled |= called_off & (self._working | self._watching)


@lru_cache(maxsize=1)
def crew() -> Crew:
    """The crew of this process."""
    return Crew()

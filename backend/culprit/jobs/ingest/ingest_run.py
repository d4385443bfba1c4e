"""From stored artifacts to series, events, tables and profiles: the task `culprit.ingest_run`.

May run twice, and again later with newer parsers: what was read of a run before is replaced in one go.
Parsing happens in a confined child. A child that dies (out of memory, too slow, a bug) costs the collector
that it was at: that one is tried once more alone, and then is `unreadable` with the reason; the others come
home.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import exists, func, select, update
from sqlalchemy.exc import DataError

from culprit.config import settings
from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.bounded import workspace
from culprit.infra.db import Database, database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Removal, Run
from culprit.workflows.parse_run import LIMITS, MAX_ATTEMPTS, Reading, Work, gather, read_all, unreadable
from culprit.workflows.store_parsed import store

#: What a reading raises that the database cannot hold; it is no fault of the worker.
UNSTORABLE = (DataError, ValueError, ArithmeticError)
Json = dict[str, Any]
log = structlog.get_logger("culprit.ingest_run")


def ingest_run(run_id: UUID, *, again: bool = False) -> str | None:
    """Read one run and end it. Returns its state, None where there was nothing to do.

    `again` reads a run once more that has already ended, for newer parsers; its state stays.
    """
    db, blobs = database(), artifact_store()
    work = _begin(db, blobs, run_id, again)
    if work is None:
        return None
    with workspace(settings().home / "work") as directory:
        read_all(work, directory, LIMITS)
        return _store(db, work, again=again)


def _store(db: Database, work: Work, *, again: bool) -> str | None:
    """Store all readings; one that the database cannot hold costs its own collector, and no second attempt."""

    def attempt(readings: list[Reading], *, keep: bool = True) -> str | None:
        with unit_of_work(db.sessions) as session:
            state = store(session, work.run_id, work.fence, readings, clock=work.clock, again=again)
            if not keep:
                session.flush()
                raise _TriedOnly
            return state

    try:
        return attempt(work.readings)
    except UNSTORABLE as error:
        log.error("reading_not_storable", run=str(work.run_id), error=type(error).__name__, exc_info=True)
    readings: list[Reading] = []
    for reading in work.readings:
        try:
            attempt([reading], keep=False)
        except _TriedOnly:
            readings.append(reading)
        except UNSTORABLE:
            readings.append(unreadable(reading.run_collector_id, "ingest.not_storable"))
    return attempt(readings)


class _TriedOnly(Exception):
    """What was written is to be rolled back."""


def _begin(db: Database, blobs: ArtifactStore, run_id: UUID, again: bool) -> Work | None:
    with unit_of_work(db.sessions) as session:
        if again and session.scalar(select(exists().where(Removal.run_id == run_id))):
            return None  # what was deleted cannot be read again, and what was read of it would be lost
        wanted = RUN_DONE if again else ("ingesting",)
        row = session.execute(
            update(Run)
            .where(Run.id == run_id, Run.state.in_(wanted))
            .values(ingest_attempts=1 if again else Run.ingest_attempts + 1, heartbeat_at=func.now())
            .returning(Run.fence, Run.clock, Run.facts, Run.ingest_attempts)
            .execution_options(synchronize_session=False)
        ).first()
        if row is None:
            return None
        work = Work(run_id, row.fence, row.clock, row.facts or {})
        gather(session, blobs, work, given_up=row.ingest_attempts > MAX_ATTEMPTS)
        return work


RUN_DONE = ("done", "partial", "failed", "cancelled", "expired")

"""The job that parses the artifacts of a run into series, events, tables and profiles.

A second message changes nothing while the first worker renews its lease. The job may run again later with newer
parsers, replacing the earlier results in one transaction.
Parsing runs in a sandboxed child. A child that dies (out of memory, too slow, a bug) affects the collector
that it was parsing: that collector is parsed once more alone, and then is `unreadable` with the reason. The
results of the others are stored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from sqlalchemy import and_, func, update
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from culprit.captures.locks import get_lease_duration
from culprit.evidence.parsing.parse_run import (
    LIMITS,
    MAX_ATTEMPTS,
    ParsedCollector,
    ParseWork,
    collect_parse_jobs,
    make_unreadable,
    parse_all,
)
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.sandbox.process import create_workspace
from culprit.infra.settings import get_settings
from culprit.jobs.ingest.queries import has_removed_data, is_unread, pending_ingests
from culprit.jobs.ingest.store_run import store_run
from culprit.jobs.job import Job

#: Errors of values that the database cannot store; the worker is not the cause.
UNSTORABLE_ERRORS = (DataError, ValueError, ArithmeticError)
log = structlog.get_logger("culprit.ingest_run")


def ingest_run(run_id: UUID, *, again: bool = False) -> str | None:
    """Parse one run and end it. Return its state, or None if there was nothing to do.

    `again` parses a run that has already ended with newer parsers; its state is unchanged.
    """
    db, blobs = get_database(), artifact_store()
    work = _start_ingest(db, blobs, run_id, again)
    if work is None:
        return None
    with create_workspace(get_settings().home / "work") as directory:
        with _renew_lease(db, run_id):
            parse_all(work, directory, LIMITS)
        return _store_results(db, work, again=again)


def _store_results(db: Database, work: ParseWork, *, again: bool) -> str | None:
    """Store all results. Return the new state of the run.

    Values that the database cannot store affect only their collector, which becomes `unreadable` without a retry.
    """

    def attempt(readings: list[ParsedCollector], *, keep: bool = True) -> str | None:
        with unit_of_work(db.sessions) as session:
            state = store_run(session, work.run_id, work.fence, readings, clock=work.clock, again=again)
            if not keep:
                session.flush()
                raise _RollbackError
            return state

    try:
        return attempt(work.results)
    except UNSTORABLE_ERRORS as error:
        log.error("reading_not_storable", run=str(work.run_id), error=type(error).__name__, exc_info=True)
    readings: list[ParsedCollector] = []
    for reading in work.results:
        try:
            attempt([reading], keep=False)
        except _RollbackError:
            readings.append(reading)
        except UNSTORABLE_ERRORS:
            readings.append(make_unreadable(reading.run_collector_id, "ingest.not_storable"))
    return attempt(readings)


class _RollbackError(Exception):
    """Roll back the transaction of a test write."""


def _start_ingest(db: Database, blobs: ArtifactStore, run_id: UUID, again: bool) -> ParseWork | None:
    with unit_of_work(db.sessions) as session:
        if again and has_removed_data(session, run_id):
            return None  # deleted artifacts cannot be parsed again, and their earlier results would be lost
        is_due = Run.state.in_(RUN_DONE) if again else and_(Run.state == "ingesting", is_unread())
        row = session.execute(
            update(Run)
            .where(Run.id == run_id, is_due)
            .values(
                ingest_attempts=1 if again else Run.ingest_attempts + 1, heartbeat_at=func.clock_timestamp()
            )
            .returning(Run.fence, Run.clock, Run.facts, Run.ingest_attempts)
            .execution_options(synchronize_session=False)
        ).first()
        if row is None:
            return None
        work = ParseWork(run_id, row.fence, row.clock, row.facts or {})
        collect_parse_jobs(session, blobs, work, is_abandoned=row.ingest_attempts > MAX_ATTEMPTS)
        return work


@contextmanager
def _renew_lease(db: Database, run_id: UUID) -> Iterator[None]:
    """Send heartbeats of the run from a thread, so that another worker parses it soon after this one is lost."""
    stopping = threading.Event()

    def repeat() -> None:
        while not stopping.wait(get_lease_duration().total_seconds() / 3):
            try:
                with unit_of_work(db.sessions) as session:
                    session.execute(
                        update(Run)
                        .where(Run.id == run_id, Run.state == "ingesting")
                        .values(heartbeat_at=func.clock_timestamp())
                        .execution_options(synchronize_session=False)
                    )
            except (DBAPIError, PoolTimeout) as error:
                log.warning("database_away", error=type(error).__name__)

    thread = threading.Thread(target=repeat, name="parse-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


RUN_DONE = ("done", "partial", "failed", "canceled", "expired")


JOB = Job("culprit.ingest_run", "parse", ingest_run, pending_ingests)

"""Commit results that a crashed worker left in the spool."""

from __future__ import annotations

from uuid import UUID

import structlog
from sqlalchemy.exc import DBAPIError

from culprit.captures.locks import RunLease
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.settings import get_settings
from culprit.jobs.capture.run_capture import commit_safely
from culprit.jobs.capture.session_result import SessionResult, store_artifacts
from culprit.jobs.capture.spool import list_spooled

log = structlog.get_logger("culprit.recover")
OWNED_S = 900.0


def commit_spooled_results() -> int:
    """Commit the results in the spool of this machine; return how many runs were completed.

    A directory without an outcome may belong to a running worker; it is kept until it is old. If the run
    continued elsewhere, its fence refuses the outcome, which is deleted.
    """
    done = 0
    for run_id, fence, spool in list_spooled(get_settings().home):
        stored = spool.outcome()
        if stored is None:
            if spool.age_s() > OWNED_S:
                spool.discard()
            continue
        result = SessionResult.from_json(stored["result"])
        claim = RunLease(run_id, UUID(stored["claim"]["capture_id"]), fence, stored["claim"]["attempt"])
        try:
            store_artifacts(artifact_store(), result)
            state = commit_safely(claim, result, stored["clock"], stored["plan"])
        except DBAPIError as error:
            log.warning("database_away", error=type(error).__name__)
            return done
        log.info("evidence_recovered", run=str(run_id), state=state)
        done += state is not None
        spool.discard()
    return done

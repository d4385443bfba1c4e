"""After a crash: commits the evidence that a dead worker had in hand, where its run still waits for it."""

from __future__ import annotations

from uuid import UUID

import structlog
from sqlalchemy.exc import DBAPIError

from culprit.captures.leases import Claim
from culprit.config import settings
from culprit.infra.artifacts import artifact_store
from culprit.workflows.homecoming import Homecoming, adopt
from culprit.workflows.run_capture import settle_safely
from culprit.workflows.spool import left_behind

log = structlog.get_logger("culprit.recover")
OWNED_S = 900.0


def recover() -> int:
    """Looks through the spool of this machine; returns how many runs were completed.

    The directory of an attempt that some living worker still writes to has no outcome yet and is left alone
    until it is old. An outcome whose run went on without it is refused by its fence, and removed.
    """
    done = 0
    for run_id, fence, spool in left_behind(settings().home):
        kept = spool.outcome()
        if kept is None:
            if spool.age_s() > OWNED_S:
                spool.discard()
            continue
        home = Homecoming.from_json(kept["home"])
        claim = Claim(run_id, UUID(kept["claim"]["capture_id"]), fence, kept["claim"]["attempt"])
        try:
            adopt(artifact_store(), home)
            state = settle_safely(claim, home, kept["clock"], kept["plan"])
        except DBAPIError as error:
            log.warning("database_away", error=type(error).__name__)
            return done
        log.info("evidence_recovered", run=str(run_id), state=state)
        done += state is not None
        spool.discard()
    return done

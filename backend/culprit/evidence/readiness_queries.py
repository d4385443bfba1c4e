"""Whether a run has been read and evaluated completely, or whether parts of it are still to come."""

from __future__ import annotations

import time
from uuid import UUID

from sqlalchemy import Exists, and_, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.imports.sources import PROM_IMPORT
from culprit.models import Evaluation, Profile, RunCollector

#: What was fetched is read at once; a result that was not read within this time is not waited for.
READ_WITHIN_NS = 60 * 1_000_000_000
#: In a ranking: rules were asked when profiles of the run were still to come.
BEFORE_PROFILES = "before_profiles"
READ = ("done", "partial", "failed", "cancelled")


def profiles_to_come(run_id: UUID | InstrumentedAttribute[UUID]) -> Exists:
    """Whether profiles of a run are still being built."""
    return exists(
        select(Profile.id).where(Profile.run_id == run_id, Profile.state.in_(("queued", "running")))
    )


def being_built(session: Session, run_id: UUID) -> bool:
    """Whether profiles of the run, or what its service's Prometheus measured, are still to come.

    Or have come just now, and rules were not asked since.
    """
    asked_early = exists(
        select(Evaluation.run_id).where(
            Evaluation.run_id == run_id, Evaluation.ranking.has_key(BEFORE_PROFILES)
        )
    )
    lately_ns = time.time_ns() - READ_WITHIN_NS
    unread = and_(
        RunCollector.state == "done", RunCollector.parser_version.is_(None), RunCollector.ended_ns > lately_ns
    )
    fetched = select(RunCollector.id).where(
        RunCollector.run_id == run_id,
        RunCollector.collector == PROM_IMPORT,
        or_(RunCollector.state == "queued", unread),
    )
    return bool(session.scalar(select(or_(profiles_to_come(run_id), asked_early, exists(fetched)))))

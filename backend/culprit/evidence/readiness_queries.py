"""SELECTs of whether parsing and evaluation of a run are complete."""

from __future__ import annotations

import time
from uuid import UUID

from sqlalchemy import Exists, and_, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.domain.imports.file_kinds import PROM_SERVICE
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile

#: Fetched results are parsed at once; a result that is not parsed within this time is not waited for.
PARSE_TIMEOUT_NS = 60 * 1_000_000_000
#: In a ranking: the rules were evaluated before all profiles of the run were built.
BEFORE_PROFILES = "before_profiles"
PARSED_STATES = ("done", "partial", "failed", "canceled")


def pending_profiles_condition(run_id: UUID | InstrumentedAttribute[UUID]) -> Exists:
    """Return the condition that profiles of a run are still being built."""
    return exists(
        select(Profile.id).where(Profile.run_id == run_id, Profile.state.in_(("queued", "running")))
    )


def is_evaluation_pending(session: Session, run_id: UUID) -> bool:
    """Return whether an evaluation of the run is still pending.

    It is pending while profiles are built or service metrics are fetched, and until rules are evaluated after that.
    """
    early_import = exists(
        select(Evaluation.run_id).where(
            Evaluation.run_id == run_id, Evaluation.ranking.has_key(BEFORE_PROFILES)
        )
    )
    lately_ns = time.time_ns() - PARSE_TIMEOUT_NS
    unread = and_(
        RunCollector.state == "done", RunCollector.parser_version.is_(None), RunCollector.ended_ns > lately_ns
    )
    fetched = select(RunCollector.id).where(
        RunCollector.run_id == run_id,
        RunCollector.collector == PROM_SERVICE,
        or_(RunCollector.state == "queued", unread),
    )
    return bool(
        session.scalar(select(or_(pending_profiles_condition(run_id), early_import, exists(fetched))))
    )

"""What was fetched from elsewhere for a run: kept as artifacts of its collector, and read beside what came home."""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.config import settings
from culprit.infra.artifacts import ArtifactStore, Stored
from culprit.infra.bounded import workspace
from culprit.infra.db import Database
from culprit.models import Artifact, Run, RunCollector
from culprit.workflows.parse_run import LIMITS, Reading, Work, gather, read_all


def still_planned(
    session: Session, run_id: UUID, collector: str, *, lock: bool = False
) -> RunCollector | None:
    """The collector of a run that is still to be fetched; None where somebody else has done it."""
    query = select(RunCollector).where(
        RunCollector.run_id == run_id, RunCollector.collector == collector, RunCollector.state == "queued"
    )
    return session.scalar(query.with_for_update() if lock else query)


def keep_parts(
    session: Session, planned: RunCollector, stored: Mapping[str, Stored], started_ns: int
) -> None:
    """Write the parts down with the collector, and when they were fetched."""
    planned.started_ns, planned.ended_ns = started_ns, time.time_ns()
    planned.bytes = sum(one.size for one in stored.values())
    for name, one in stored.items():
        session.add(
            Artifact(
                run_id=planned.run_id,
                run_collector_id=planned.id,
                part=name,
                sha256=one.sha256,
                size=one.size,
                stored_size=one.size,
                media_type="application/json",
            )
        )


def readings_of(db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID) -> list[Reading]:
    """Read the fetched parts alone; everything else of the run stays as it was read."""
    with db.sessions() as session:
        run = session.get_one(Run, run_id)
        work = Work(run_id, run.fence, run.clock, run.facts or {})
        gather(session, blobs, work, only=run_collector_id)
    with workspace(settings().home / "work") as directory:
        read_all(work, directory, LIMITS)
    return work.readings

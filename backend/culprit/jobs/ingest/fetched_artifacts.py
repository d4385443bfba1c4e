"""Store fetched answers as artifacts of a collector, and parse them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.evidence.parsing.parse_run import (
    LIMITS,
    ParsedCollector,
    ParseWork,
    collect_parse_jobs,
    parse_all,
)
from culprit.infra.artifacts.blob_files import StoredBlob
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.session import Database
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.sandbox.process import create_workspace
from culprit.infra.settings import get_settings


def keep_parts(
    session: Session, planned: RunCollector, stored: Mapping[str, StoredBlob], started_ns: int
) -> None:
    """Store the parts with the collector and the time of the fetch."""
    planned.started_ns, planned.ended_ns = started_ns, time.time_ns()
    planned.bytes = sum(item.size for item in stored.values())
    for name, item in stored.items():
        session.add(
            Artifact(
                run_id=planned.run_id,
                run_collector_id=planned.id,
                part=name,
                sha256=item.sha256,
                size=item.size,
                stored_size=item.size,
                media_type="application/json",
            )
        )


def parse_stored_artifacts(
    db: Database, blobs: ArtifactStore, run_id: UUID, run_collector_id: UUID
) -> list[ParsedCollector]:
    """Parse only the fetched parts; other results of the run are unchanged."""
    with db.sessions() as session:
        run = session.get_one(Run, run_id)
        work = ParseWork(run_id, run.fence, run.clock, run.facts or {})
        collect_parse_jobs(session, blobs, work, only=run_collector_id)
    with create_workspace(get_settings().home / "work") as directory:
        parse_all(work, directory, LIMITS)
    return work.results

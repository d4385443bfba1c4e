"""Keep one row of checks for each stored file, and report the altered files with their captures."""

from __future__ import annotations

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.evidence.retention.consistency_queries import (
    count_checks,
    list_altered_checks,
    list_naming_captures,
    select_unchecked_blobs,
    select_unrecorded_checks,
)
from culprit.evidence.retention.schemas import AlteredFile, AlteredFileCapture, FileChecks
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.settings import get_settings
from culprit.json_types import Json

#: Rows that one synchronization adds, so that the first one of a large store ends in time; the next adds others.
MAX_NEW = 200_000
MAX_LISTED = 100
MAX_CAPTURES = 20


def sync_checks(session: Session) -> None:
    """Add a row for new stored files, and delete the rows of files that retention has deleted."""
    gone = delete(BlobCheck).where(BlobCheck.sha256.in_(select_unrecorded_checks()))
    session.execute(gone.execution_options(synchronize_session=False))
    columns = [BlobCheck.sha256, BlobCheck.size, BlobCheck.checked_at]
    new = insert(BlobCheck).from_select(
        columns, select_unchecked_blobs().limit(MAX_NEW), include_defaults=False
    )
    session.execute(new.on_conflict_do_nothing())


def build_file_checks(session: Session) -> FileChecks:
    """Return how far the checks of stored files are, and the altered files."""
    files, altered, oldest = count_checks(session)
    rows = list_altered_checks(session, MAX_LISTED)
    captures = list_naming_captures(session, [row.sha256 for row in rows])
    examples = []
    for row in rows:
        reported: Json = {name: getattr(row, name) for name in ("sha256", "reason", "altered_at")}
        named = captures.get(row.sha256, [])[:MAX_CAPTURES]
        named_captures = [
            AlteredFileCapture(id=item.id, number=item.number, plan=item.plan) for item in named
        ]
        examples.append(AlteredFile(**reported, captures=named_captures))
    return FileChecks(
        every_hours=get_settings().file_check_hours,
        files=files,
        oldest_at=oldest,
        altered_count=altered,
        altered=examples,
    )

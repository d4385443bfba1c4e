"""Check that rows and bytes agree: find bytes that no row names, and rows whose bytes are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice

from sqlalchemy.orm import Session

from culprit.evidence.retention.consistency_queries import iter_digests, list_named
from culprit.infra.artifacts.store import ArtifactStore, BlobInfo
from culprit.infra.db.clock import utc_now
from culprit.json_types import Json

BATCH = 2000
MAX_LISTED = 100
#: Bytes are stored before their row is written, so a younger file can still get a row.
MIN_AGE = timedelta(hours=1)


def check_consistency(session: Session, store: ArtifactStore) -> Json:
    """Compare all digests of rows and files without reading contents. List at most `MAX_LISTED` of each kind."""
    orphans: list[Json] = []
    count = orphan_bytes = files = stored = 0
    young = utc_now() - MIN_AGE
    for batch in _iter_batches(store.walk(), BATCH):
        files += len(batch)
        stored += sum(item.size for item in batch)
        known = list_named(session, [item.sha256 for item in batch])
        for item in batch:
            if item.sha256 not in known and item.at < young:
                count += 1
                orphan_bytes += item.size
                if len(orphans) < MAX_LISTED:
                    orphans.append({"sha256": item.sha256, "bytes": item.size, "at": item.at.isoformat()})
    missing: list[str] = []
    missing_count = rows = 0
    for digests in iter_digests(session, BATCH):
        rows += len(digests)
        for digest in digests:
            if not store.exists(digest):
                missing_count += 1
                if len(missing) < MAX_LISTED:
                    missing.append(digest)
    return {
        "files": files,
        "bytes": stored,
        "rows": rows,
        "orphans": {"count": count, "bytes": orphan_bytes, "examples": orphans},
        "missing": {"count": missing_count, "examples": missing},
    }


def _iter_batches(result: Iterable[BlobInfo], size: int) -> Iterator[list[BlobInfo]]:
    walking = iter(result)
    while batch := list(islice(walking, size)):
        yield batch


def delete_orphans(session: Session, store: ArtifactStore) -> tuple[int, int]:
    """Delete bytes that no row names. Return their number and size."""
    count = size = 0
    for batch in _iter_batches(store.walk(), BATCH):
        known = list_named(session, [item.sha256 for item in batch])
        for item in batch:
            if (
                item.sha256 not in known
                and item.at < utc_now() - MIN_AGE
                and store.delete_settled(item.sha256, utc_now() - MIN_AGE)
            ):
                count += 1
                size += item.size
    return count, size

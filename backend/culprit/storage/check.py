"""Whether rows and bytes fit together: bytes that no row names, and rows whose bytes are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

from sqlalchemy import ARRAY, Select, Text, cast, func, select, union_all
from sqlalchemy.orm import Session

from culprit.infra.artifacts import ArtifactStore, Found
from culprit.kit.clock import now
from culprit.models import Artifact, DoomedBlob, Profile, ProfileDiff, Run

AT_ONCE = 2000
MAX_NAMED = 100
#: Bytes are stored before their row is written: what is younger than this may still get one.
YOUNG = timedelta(hours=1)
Json = dict[str, Any]


def check(session: Session, store: ArtifactStore) -> Json:
    """Reads all names on both sides, and no contents. At most `MAX_NAMED` of each kind are named, all are counted."""
    orphans: list[Json] = []
    count = orphan_bytes = files = stored = 0
    young = now() - YOUNG
    for some in _pieces(store.walk(), AT_ONCE):
        files += len(some)
        stored += sum(one.size for one in some)
        known = named(session, [one.sha256 for one in some])
        for one in some:
            if one.sha256 not in known and one.at < young:
                count += 1
                orphan_bytes += one.size
                if len(orphans) < MAX_NAMED:
                    orphans.append({"sha256": one.sha256, "bytes": one.size, "at": one.at.isoformat()})
    lost: list[str] = []
    lost_count = rows = 0
    for digests in _digests(session):
        rows += len(digests)
        for digest in digests:
            if not store.exists(digest):
                lost_count += 1
                if len(lost) < MAX_NAMED:
                    lost.append(digest)
    return {
        "files": files,
        "bytes": stored,
        "rows": rows,
        "orphans": {"count": count, "bytes": orphan_bytes, "named": orphans},
        "lost": {"count": lost_count, "named": lost},
    }


def _live() -> tuple[Select[Any], ...]:
    """Every digest of which a row says that its bytes are there."""
    return (
        select(Artifact.sha256.label("sha256")).where(Artifact.removed_at.is_(None)),
        select(Profile.store_key).where(Profile.store_key.is_not(None), Profile.removed_at.is_(None)),
        select(Profile.tree_key).where(Profile.tree_key.is_not(None), Profile.removed_at.is_(None)),
        select(ProfileDiff.result_key).where(
            ProfileDiff.result_key.is_not(None), ProfileDiff.removed_at.is_(None)
        ),
    )


def named(session: Session, digests: Iterable[str]) -> set[str]:
    """Those that a row names: that is there, that waits to be deleted, or that is a file an import was made of."""
    wanted = cast(list(digests), ARRAY(Text))
    spec = Run.spec["sha256"].astext
    queries = (
        select(Artifact.sha256).where(Artifact.sha256 == func.any(wanted), Artifact.removed_at.is_(None)),
        select(Profile.store_key).where(Profile.store_key == func.any(wanted), Profile.removed_at.is_(None)),
        select(Profile.tree_key).where(Profile.tree_key == func.any(wanted), Profile.removed_at.is_(None)),
        select(ProfileDiff.result_key).where(
            ProfileDiff.result_key == func.any(wanted), ProfileDiff.removed_at.is_(None)
        ),
        select(DoomedBlob.sha256).where(DoomedBlob.sha256 == func.any(wanted)),
        select(spec).where(spec == func.any(wanted)),
    )
    return {str(one) for query in queries for one in session.scalars(query)}


def _digests(session: Session) -> Iterator[list[str]]:
    """All of them, once each, some at a time; the transaction reads one moment."""
    every = union_all(*_live()).subquery()
    query = select(every.c.sha256).distinct()
    for some in session.scalars(query.execution_options(yield_per=AT_ONCE)).partitions(AT_ONCE):
        yield list(some)


def _pieces(found: Iterable[Found], size: int) -> Iterator[list[Found]]:
    walking = iter(found)
    while some := list(islice(walking, size)):
        yield some


def delete_orphans(session: Session, store: ArtifactStore) -> tuple[int, int]:
    """Deletes bytes that no row names. Returns how many and how large they were."""
    count = size = 0
    for some in _pieces(store.walk(), AT_ONCE):
        known = named(session, [one.sha256 for one in some])
        for one in some:
            if (
                one.sha256 not in known
                and one.at < now() - YOUNG
                and store.delete_settled(one.sha256, now() - YOUNG)
            ):
                count += 1
                size += one.size
    return count, size

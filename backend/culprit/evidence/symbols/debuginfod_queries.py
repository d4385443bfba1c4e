"""SELECTs and changes of debuginfod servers and of their stored answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, delete, func, not_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.base import JsonList
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.debug_file import DebugFile
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer

#: A server that had no symbols of a build ID is asked again after this time.
ABSENT_FOR = timedelta(days=1)
#: Key of an advisory lock.
_SERVERS_LOCK = 0x44424749


class ArtifactRef(NamedTuple):
    """An artifact, and where its bytes are. `id` is None before it is stored."""

    id: UUID | None
    sha256: str
    size: int
    stored_size: int
    encoding: str


class StoredAnswer(NamedTuple):
    """What a server answered: `artifact` has the symbols, and is None unless the state is `file`."""

    state: str
    artifact: ArtifactRef | None
    blocks: JsonList


def select_servers() -> Select[DebuginfodServer]:
    """Select the allowed servers."""
    return select(DebuginfodServer)


def list_servers(session: Session, *, lock: bool = False) -> Sequence[DebuginfodServer]:
    """Return the servers in the order in which they were added; with `lock`, no other transaction adds one."""
    if lock:
        session.execute(select(func.pg_advisory_xact_lock(_SERVERS_LOCK)))
    return session.scalars(select_servers().order_by(DebuginfodServer.id)).all()


def has_servers(session: Session) -> bool:
    """Return whether an admin has allowed a server."""
    return session.scalar(select(DebuginfodServer.id).limit(1)) is not None


def load_answers(session: Session, build_ids: Collection[str]) -> dict[tuple[UUID, str], StoredAnswer]:
    """Return the stored answers by server and build ID: those with symbols, and others for a day."""
    query = (
        select(DebugFile, Artifact)
        .outerjoin(Artifact, Artifact.id == DebugFile.artifact_id)
        .where(DebugFile.build_id.in_(build_ids), Artifact.removed_at.is_(None), not_(_is_outdated()))
    )
    return {
        (row.server_id, row.build_id): StoredAnswer(row.state, _to_ref(artifact), row.blocks)
        for row, artifact in session.execute(query)
    }


def is_artifact_kept(session: Session, artifact_id: UUID) -> bool:
    """Return whether retention has not deleted this artifact."""
    query = select(Artifact.id).where(Artifact.id == artifact_id, Artifact.removed_at.is_(None))
    return session.scalar(query) is not None


def _to_ref(artifact: Artifact | None) -> ArtifactRef | None:
    if artifact is None:
        return None
    return ArtifactRef(artifact.id, artifact.sha256, artifact.size, artifact.stored_size, artifact.encoding)


def store_answers(session: Session, answers: Collection[DebugFile]) -> None:
    """Store answers. Replace those of the same server and build ID, and delete those that are used no longer."""
    session.execute(delete(DebugFile).where(_is_outdated()))
    servers = set(session.scalars(select(DebuginfodServer.id).with_for_update(read=True, key_share=True)))
    for answer in answers:
        if answer.server_id not in servers:
            continue
        values = {"state": answer.state, "artifact_id": answer.artifact_id, "blocks": answer.blocks}
        query = insert(DebugFile).values(
            id=new_uuid7(),
            server_id=answer.server_id,
            build_id=answer.build_id,
            checked_at=func.now(),
            **values,
        )
        session.execute(
            query.on_conflict_do_update(
                constraint="uq_debug_file_server_id_build_id", set_={**values, "checked_at": func.now()}
            )
        )


def _is_outdated() -> ColumnElement[bool]:
    return and_(DebugFile.state != "file", DebugFile.checked_at < func.now() - ABSENT_FOR)

"""A bundle becomes an incident: read in a confined child, its bytes adopted, then all rows in one transaction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.carried import confined_read, queries
from culprit.carried.form import DOCUMENT, MAX_DOCUMENT, Document
from culprit.carried.rows import Rows
from culprit.config import Settings
from culprit.incidents import journal
from culprit.incidents import queries as incidents
from culprit.infra.artifacts import ArtifactStore, Stored, blocks
from culprit.infra.bounded import Ended, Limits, is_output, open_output, run_confined, workspace
from culprit.infra.broker import announce
from culprit.kit.errors import CulpritError, Invalid, TooLarge, Unavailable
from culprit.models import Incident

LIMITS = Limits(address_space=2 << 30, cpu_s=60, file_bytes=1100 << 20, wall_s=90)
MODULE = confined_read.__name__
MAX_RESULT_BYTES = 8 << 20
COMPARE = "culprit.compare_carried"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Brought:
    """The incident that a file is, and whether it became one just now."""

    incident: Incident
    new: bool


def bring(session: Session, store: ArtifactStore, config: Settings, actor: Actor, file: BinaryIO) -> Brought:
    """The incident of a bundle. The same file again gives the same incident. Raises Forbidden, Invalid, TooLarge."""
    policy(actor, "capture.import")
    policy(actor, "incident.edit")
    if store.space().low:
        raise Unavailable("capture.disk_low")
    with workspace(config.home / "work") as directory:
        path = directory / "bundle"
        stored = _kept(file, path, config.upload_limit)
        # Of two who bring the same file at once, the second finds what the first has made.
        session.execute(select(func.pg_advisory_xact_lock(int(stored.sha256[:15], 16))))
        known = _known(session, actor, stored.sha256)
        if known is not None:
            announce(session, COMPARE, known.id)
            return Brought(known, new=False)
        document, parts = _read(path, directory)
        _adopt(store, parts, directory)
        return Brought(_make(session, actor, document, stored, parts), new=True)


def _kept(file: BinaryIO, path: Path, limit: int) -> Stored:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as out:
        for piece in blocks(file):
            size += len(piece)
            if size > limit:
                raise TooLarge("import.limit_packed", limit=limit)
            digest.update(piece)
            out.write(piece)
    return Stored(digest.hexdigest(), size)


def _known(session: Session, actor: Actor, sha256: str) -> Incident | None:
    for one in queries.origins(session, sha256):
        found = incidents.incident(session, actor, one)
        if found is not None:
            return found
    return None


def _read(path: Path, directory: Path) -> tuple[Document, Json]:
    ended = run_confined(MODULE, {"path": str(path)}, directory, LIMITS, inputs=[str(path)])
    if ended.verdict != "ok":
        raise _died(ended)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        raise Invalid(result["failure"]["key"], errors=(), **result["failure"]["params"])
    with open_output(directory / DOCUMENT) as stream:
        return Document.model_validate_json(stream.read(MAX_DOCUMENT)), result["parts"]


def _died(ended: Ended) -> CulpritError:
    if ended.verdict == "crashed":
        raise RuntimeError(f"the reading of a bundle died: {ended.stderr}")
    params = {
        "out_of_memory": {"limit_mb": LIMITS.address_space >> 20},
        "too_slow": {"limit_s": int(LIMITS.wall_s)},
        "too_large": {"limit_mb": LIMITS.file_bytes >> 20},
    }[ended.verdict]
    return TooLarge(f"ingest.{ended.verdict}", attempts=1, errors=(), **params)


def _adopt(store: ArtifactStore, parts: Json, directory: Path) -> None:
    """Bytes without a row are found by the next check of the store; a row without its bytes never is."""
    for sha256, part in parts.items():
        path = directory / f"part-{int(part['number'])}"
        if not is_output(path):
            raise Invalid("carried.altered", name=sha256)
        store.adopt(path, sha256)


def _make(session: Session, actor: Actor, document: Document, stored: Stored, parts: Json) -> Incident:
    rows = Rows(session, actor, document, parts)
    incident = rows.write(stored.sha256)
    origin = document.origin
    journal.enter(
        session,
        incident,
        actor,
        "imported",
        culprit=origin.culprit,
        number=origin.number,
        runs=len(document.runs),
    )
    for comment in document.comments:
        journal.enter(
            session, incident, None, "imported_comment", note=comment.text,
            about=comment.about or f"#{origin.number}", who=comment.by or "-", at=comment.at.isoformat(),
        )  # fmt: skip
    audit.record(
        session,
        actor,
        "incident.import",
        "incident",
        incident.id,
        number=incident.number,
        sha256=stored.sha256,
        bytes=stored.size,
        runs=len(document.runs),
    )
    for run_id in rows.to_read:
        announce(session, "culprit.ingest_run", run_id)
    if not rows.to_read:
        announce(session, COMPARE, incident.id)
    return incident

"""Import a bundle: read it in the sandbox, adopt its artifacts, then write all rows in one transaction."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.incidents.records import journal
from culprit.incidents.records import queries as incidents
from culprit.incidents.transfer import queries
from culprit.incidents.transfer.bundle.document import DOCUMENT, MAX_DOCUMENT, BundleDocument
from culprit.incidents.transfer.imports import read_in_sandbox
from culprit.incidents.transfer.imports.write_rows import RowWriter
from culprit.infra.artifacts.blob_files import StoredBlob, read_blocks
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.sandbox.process import (
    SandboxExit,
    SandboxLimits,
    create_workspace,
    is_output,
    open_output,
    run_in_sandbox,
)
from culprit.infra.settings import Settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import CulpritError, InvalidRequestError, TooLargeError, UnavailableError

LIMITS = SandboxLimits(address_space=2 << 30, cpu_s=60, file_bytes=1100 << 20, wall_s=90)
MODULE = read_in_sandbox.__name__
MAX_RESULT_BYTES = 8 << 20
COMPARE = "culprit.compare_import"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The incident of a file, and whether this import created it."""

    incident: Incident
    new: bool


def import_incident(
    session: Session, store: ArtifactStore, config: Settings, actor: Actor, file: BinaryIO
) -> ImportResult:
    """Import a bundle, or return the incident of an earlier import of the same file.

    Raises ForbiddenError, InvalidRequestError, TooLargeError.
    """
    authorize(actor, "capture.import")
    authorize(actor, "incident.edit")
    if store.space().is_low:
        raise UnavailableError("capture.disk_low")
    with create_workspace(config.home / "work") as directory:
        path = directory / "bundle"
        stored = _save_upload(file, path, config.upload_limit)
        # Of two concurrent imports of a file, the second returns the incident of the first.
        queries.lock_digest(session, stored.sha256)
        known = _find_imported(session, actor, stored.sha256)
        if known is not None:
            enqueue_after_commit(session, COMPARE, known.id)
            return ImportResult(known, new=False)
        document, parts = _read_bundle(path, directory)
        _adopt_artifacts(store, parts, directory)
        return ImportResult(_create_incident(session, actor, document, stored, parts), new=True)


def _save_upload(file: BinaryIO, path: Path, limit: int) -> StoredBlob:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as out:
        for piece in read_blocks(file):
            size += len(piece)
            if size > limit:
                raise TooLargeError("import.limit_packed", mib=limit >> 20)
            digest.update(piece)
            out.write(piece)
    return StoredBlob(digest.hexdigest(), size)


def _find_imported(session: Session, actor: Actor, sha256: str) -> Incident | None:
    for origin in queries.list_origins(session, sha256):
        incident = incidents.find_incident(session, actor, origin)
        if incident is not None:
            return incident
    return None


def _read_bundle(path: Path, directory: Path) -> tuple[BundleDocument, Json]:
    ended = run_in_sandbox(MODULE, {"path": str(path)}, directory, LIMITS, inputs=[str(path)])
    if ended.verdict != "ok":
        raise _to_error(ended)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        raise InvalidRequestError(result["failure"]["key"], errors=(), **result["failure"]["params"])
    with open_output(directory / DOCUMENT) as stream:
        return BundleDocument.model_validate_json(stream.read(MAX_DOCUMENT)), result["parts"]


def _to_error(ended: SandboxExit) -> CulpritError:
    if ended.verdict == "crashed":
        raise RuntimeError(f"reading a bundle crashed: {ended.stderr}")
    params = {
        "out_of_memory": {"limit_mb": LIMITS.address_space >> 20},
        "too_slow": {"limit_s": int(LIMITS.wall_s)},
        "too_large": {"limit_mb": LIMITS.file_bytes >> 20},
    }[ended.verdict]
    return TooLargeError(f"ingest.{ended.verdict}", attempts=1, errors=(), **params)


def _adopt_artifacts(store: ArtifactStore, parts: Json, directory: Path) -> None:
    """Adopt artifacts before their rows: the storage check finds bytes without a row, but not the reverse."""
    for sha256, part in parts.items():
        path = directory / f"part-{int(part['number'])}"
        if not is_output(path):
            raise InvalidRequestError("transfer.altered", name=sha256)
        store.adopt(path, sha256)


def _create_incident(
    session: Session, actor: Actor, document: BundleDocument, stored: StoredBlob, parts: Json
) -> Incident:
    rows = RowWriter(session, actor, document, parts)
    incident = rows.write(stored.sha256)
    origin = document.origin
    journal.append_entry(
        session,
        incident,
        actor,
        "incident_imported",
        culprit=origin.culprit,
        number=origin.number,
        runs=len(document.runs),
    )
    for comment in document.comments:
        journal.append_entry(
            session, incident, None, "comment_imported", note=comment.text,
            about=comment.about or f"#{origin.number}", who=comment.by or "-", at=comment.at.isoformat(),
        )  # fmt: skip
    audit.record_action(
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
    for run_id in rows.pending_runs:
        enqueue_after_commit(session, "culprit.ingest_run", run_id)
    if not rows.pending_runs:
        enqueue_after_commit(session, COMPARE, incident.id)
    return incident

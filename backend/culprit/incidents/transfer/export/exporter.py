"""Export an incident as a bundle: a zip of its document, the stored artifacts, and a manifest."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from sqlalchemy.orm import Session

from collectors.profiles.limits import ImportRefusedError
from culprit import VERSION
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.incidents.records.snapshot import load_snapshot
from culprit.incidents.transfer.bundle.document import (
    ARTIFACTS,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MAX_BYTES,
    MAX_DOCUMENT,
    MAX_MEMBERS,
    BundleDocument,
)
from culprit.incidents.transfer.bundle.validate import check_document
from culprit.incidents.transfer.export import collect, redact
from culprit.infra.artifacts.blob_files import ArtifactMissingError, read_blocks
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.sandbox.process import create_workspace
from culprit.infra.settings import Settings
from culprit.json_types import Json
from culprit.web.errors import ConflictError, TooLargeError

IN_MEMORY = 8 << 20
#: Fixed, so that the same content gives the same file.
EPOCH = (1980, 1, 1, 0, 0, 0)


def export_incident(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    config: Settings,
    incident: Incident,
    *,
    redacted: bool = False,
    comments: bool = False,
) -> IO[bytes]:
    """Return the bundle as an open file at its start. Raises ConflictError, ForbiddenError, TooLargeError."""
    authorize(actor, "artifact.read")
    snapshot = load_snapshot(session, actor, incident)
    if any(is_evaluation_pending(session, run.run_id) for run in snapshot.runs):
        raise ConflictError("transfer.being_parsed")
    document = collect.build_document(session, store, snapshot, comments=comments)
    _require_size(document)
    with create_workspace(config.home / "work") as directory:
        changed: Mapping[str, Path] = {}
        if redacted:
            document, changed = redact.redact_document(session, store, document, directory)
            _require_size(document)
        _require_consistent(document)
        file = _open_archive(store, document, changed)
    audit.record_action(
        session, actor, "incident.export", "incident", incident.id, redacted=redacted, comments=comments
    )
    return file


def _require_consistent(document: Json) -> None:
    """Raise ConflictError if an import would refuse it: a verdict can cite hosts that the actor does not see."""
    held = {artifact["sha256"] for artifact in document["artifacts"] if artifact["left_out"] is None}
    try:
        check_document(BundleDocument.model_validate(document), held)
    except ImportRefusedError as refused:
        params = refused.sentence.params
        raise ConflictError(
            "transfer.not_whole", about=str(params.get("step") or params.get("id", ""))
        ) from None


def _require_size(document: Json) -> None:
    held = {
        artifact["sha256"]: artifact["size"]
        for artifact in document["artifacts"]
        if artifact["left_out"] is None
    }
    size = sum(held.values())
    if size > MAX_BYTES or len(held) + 2 > MAX_MEMBERS:
        raise TooLargeError(
            "transfer.export_too_large", mib=size >> 20, most=MAX_BYTES >> 20, parts=len(held)
        )


def _open_archive(store: ArtifactStore, document: Json, changed: Mapping[str, Path]) -> IO[bytes]:
    file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the sender closes it
    try:
        _write_archive(file, store, document, changed)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _write_archive(
    file: IO[bytes], store: ArtifactStore, document: Json, changed: Mapping[str, Path]
) -> None:
    members: list[Json] = []
    sha256s = {artifact["sha256"] for artifact in document["artifacts"] if artifact["left_out"] is None}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        gone = {
            sha256
            for sha256 in sorted(sha256s)
            if not _write_artifact(archive, store, sha256, changed.get(sha256), members)
        }
        for artifact in document["artifacts"]:
            if artifact["sha256"] in gone and artifact["left_out"] is None:
                artifact["left_out"] = "gone"
        text = json.dumps(document, ensure_ascii=False, sort_keys=True, allow_nan=False).encode()
        if len(text) > MAX_DOCUMENT:
            raise TooLargeError(
                "transfer.export_too_large", mib=len(text) >> 20, most=MAX_DOCUMENT >> 20, parts=len(sha256s)
            )
        _write_member(archive, DOCUMENT, text)
        members.append({"name": DOCUMENT, "sha256": hashlib.sha256(text).hexdigest(), "size": len(text)})
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "culprit": VERSION,
            "members": sorted(members, key=lambda member: str(member["name"])),
        }
        _write_member(archive, MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())


def _write_member(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def _write_artifact(
    archive: zipfile.ZipFile, store: ArtifactStore, sha256: str, path: Path | None, members: list[Json]
) -> bool:
    """Write an artifact. Return False if retention deleted it in the meantime."""
    try:
        source = path.open("rb") if path is not None else store.open(sha256)
    except (ArtifactMissingError, FileNotFoundError):
        return False
    name, size = f"{ARTIFACTS}{sha256}", 0
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    with source, archive.open(info, "w", force_zip64=True) as out:
        for piece in read_blocks(source):
            out.write(piece)
            size += len(piece)
    members.append({"name": name, "sha256": sha256, "size": size})
    return True

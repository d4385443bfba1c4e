"""An incident as a bundle: a zip of its document, the bytes of its runs as they are stored, and a manifest of both."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sqlalchemy.orm import Session

from collectors.parse.limits import ImportRefused
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.carried import gather, redact
from culprit.carried.check import check_document
from culprit.carried.form import (
    ARTIFACTS,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MAX_BYTES,
    MAX_DOCUMENT,
    MAX_MEMBERS,
    Document,
)
from culprit.config import Settings
from culprit.incidents.load import load
from culprit.infra.artifacts import ArtifactMissing, ArtifactStore, blocks
from culprit.infra.bounded import workspace
from culprit.kit.errors import Conflict, TooLarge
from culprit.kit.version import VERSION
from culprit.models import Incident
from culprit.workflows.readiness import being_built

Json = dict[str, Any]
IN_MEMORY = 8 << 20
#: So that the same content is the same file.
EPOCH = (1980, 1, 1, 0, 0, 0)


def write(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    config: Settings,
    incident: Incident,
    *,
    redacted: bool = False,
    comments: bool = False,
) -> IO[bytes]:
    """The bundle as an open file at its beginning. Raises Conflict, Forbidden, TooLarge."""
    policy(actor, "artifact.read")
    loaded = load(session, actor, incident)
    if any(being_built(session, one.run_id) for one in loaded.runs):
        raise Conflict("carried.being_read")
    document = gather.document(session, store, loaded, comments=comments)
    _fits(document)
    with workspace(config.home / "work") as directory:
        changed: Mapping[str, Path] = {}
        if redacted:
            document, changed = redact.redacted(session, store, document, directory)
        _hangs_together(document)
        file = _packed(store, document, changed)
    audit.record(
        session, actor, "incident.export", "incident", incident.id, redacted=redacted, comments=comments
    )
    return file


def _hangs_together(document: Json) -> None:
    """What others would refuse does not leave: a verdict may rest on hosts that whoever exports does not see."""
    held = {one["sha256"] for one in document["artifacts"] if one["left_out"] is None}
    try:
        check_document(Document.model_validate(document), held)
    except ImportRefused as refused:
        params = refused.sentence.params
        raise Conflict("carried.not_whole", about=str(params.get("step") or params.get("id", ""))) from None


def _fits(document: Json) -> None:
    held = {one["sha256"]: one["size"] for one in document["artifacts"] if one["left_out"] is None}
    size = sum(held.values())
    if size > MAX_BYTES or len(held) + 2 > MAX_MEMBERS:
        raise TooLarge("carried.export_too_large", mib=size >> 20, most=MAX_BYTES >> 20, parts=len(held))


def _packed(store: ArtifactStore, document: Json, changed: Mapping[str, Path]) -> IO[bytes]:
    file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - whoever sends it closes it
    try:
        _pack(file, store, document, changed)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _pack(file: IO[bytes], store: ArtifactStore, document: Json, changed: Mapping[str, Path]) -> None:
    members: list[Json] = []
    kept = {one["sha256"] for one in document["artifacts"] if one["left_out"] is None}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        gone = {one for one in sorted(kept) if not _artifact(archive, store, one, changed.get(one), members)}
        for one in document["artifacts"]:
            if one["sha256"] in gone and one["left_out"] is None:
                one["left_out"] = "gone"
        text = json.dumps(document, ensure_ascii=False, sort_keys=True, allow_nan=False).encode()
        if len(text) > MAX_DOCUMENT:
            raise TooLarge(
                "carried.export_too_large", mib=len(text) >> 20, most=MAX_DOCUMENT >> 20, parts=len(kept)
            )
        _put(archive, DOCUMENT, text)
        members.append({"name": DOCUMENT, "sha256": hashlib.sha256(text).hexdigest(), "size": len(text)})
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "culprit": VERSION,
            "members": sorted(members, key=lambda one: str(one["name"])),
        }
        _put(archive, MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def _artifact(
    archive: zipfile.ZipFile, store: ArtifactStore, sha256: str, path: Path | None, members: list[Json]
) -> bool:
    """Packs one; False where retention was faster."""
    try:
        source = path.open("rb") if path is not None else store.open(sha256)
    except (ArtifactMissing, FileNotFoundError):
        return False
    name, size = f"{ARTIFACTS}{sha256}", 0
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    with source, archive.open(info, "w", force_zip64=True) as out:
        for piece in blocks(source):
            out.write(piece)
            size += len(piece)
    members.append({"name": name, "sha256": sha256, "size": size})
    return True

"""Create a backup while the platform runs.

The rows are of one moment. The artifacts are copied after it: they are stored before the row that refers to
them and never change, so every referenced artifact exists; retention deletes none of them during the backup.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from culprit import VERSION
from culprit.infra.artifacts.blob_files import (
    ArtifactAlteredError,
    ArtifactMissingError,
    read_blocks,
    sync_directory,
    write_incoming,
)
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.schema_version import NewerSchemaError, check_revision
from culprit.infra.settings import Settings
from culprit.json_types import Json
from culprit.server.backup import rows
from culprit.server.backup.archive import (
    FORMAT,
    FORMAT_VERSION,
    OBJECTS,
    SUFFIX,
    BackupError,
    BackupWriter,
    open_writer,
)


@dataclass(slots=True)
class BackupResult:
    """Content and duration of a backup. `copied` are artifacts that a directory did not have yet."""

    path: Path
    tables: int = 0
    rows: int = 0
    objects: int = 0
    copied: int = 0
    copied_bytes: int = 0
    missing: int = 0
    bytes: int = 0
    seconds: float = 0.0


def compute_key_marks(config: Settings) -> Json:
    """Return marks that identify the keys of the credentials in a backup; they reveal nothing of a key."""
    try:
        ring = config.key_ring()
    except (ValueError, OSError):
        return {}
    return {str(version): compute_key_mark(key) for version, key in ring.items()}


def compute_key_mark(key: bytes) -> str:
    """Return 32 hex digits derived from the key."""
    return hmac.new(key, b"culprit backup: which key is this", hashlib.sha256).hexdigest()[:32]


def create_backup(
    config: Settings, store: ArtifactStore, target: Path, message: Callable[[str], None]
) -> BackupResult:
    """Create a backup at `target`: a directory stores artifacts once for all backups, a file contains
    everything.

    Raises BackupError.
    """
    began = time.monotonic()
    directory = target.is_dir() or (not target.exists() and target.suffix == "")
    path = target / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}{SUFFIX}" if directory else target
    if path.exists():
        raise BackupError(f"{path} already exists. Backups are never overwritten")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    backup_result = BackupResult(path)

    def scratch() -> IO[bytes]:
        return tempfile.TemporaryFile(dir=path.parent)

    result_at = datetime.now(UTC).isoformat()
    with rows.read_snapshot(config.database_url) as connection, open_writer(path, scratch) as out:
        at = rows.get_revision(connection)
        if at is None:
            raise BackupError("nothing to back up: the database has no tables")
        try:
            check_revision(at)
        except NewerSchemaError as error:
            raise BackupError(str(error)) from None
        if at != rows.get_newest_revision():
            ours = rows.get_newest_revision()
            raise BackupError(
                f"the database has migration {at}, this Culprit needs {ours}. To migrate, run ./culprit up"
            )
        tables = []
        for name in rows.list_tables():
            names = rows.list_columns(connection, name)
            reported = out.packed(f"tables/{name}.zst", rows.copy_out(connection, name, names))
            tables.append({"name": name, "columns": names, "rows": reported["rows"]})
            backup_result.tables += 1
            backup_result.rows += reported["rows"]
        message(f"{backup_result.rows} rows of {backup_result.tables} tables")
        put = _write_objects_to(path.parent) if directory else _build_tar_put(out)
        missing = _copy_artifacts(out, store, rows.list_digests(connection), put, backup_result)
        message(f"{backup_result.objects} artifacts, {backup_result.copied} of them new here")
        head = connection.execute(
            "SELECT encode(hash, 'hex'), seq FROM audit_entry ORDER BY seq DESC LIMIT 1"
        )
        last = head.fetchone()
        out.seal(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "culprit": VERSION,
                "schema": at,
                "created_at": result_at,
                "tables": tables,
                "objects": backup_result.objects,
                "objects_inside": not directory,
                "missing": missing,
                "audit": {"head": last[0], "seq": last[1]} if last else None,
                "keys": compute_key_marks(config),
            }
        )
    backup_result.missing = len(missing)
    backup_result.bytes = path.stat().st_size
    backup_result.seconds = time.monotonic() - began
    if missing:
        message(
            f"{len(missing)} referenced artifacts are missing in the store. For a list run ./culprit storage check"
        )
    return backup_result


Put = Callable[[str, int, IO[bytes]], bool]


def _copy_artifacts(
    out: BackupWriter, store: ArtifactStore, digests: Iterator[str], put: Put, backup_result: BackupResult
) -> list[str]:
    """Copy artifacts, then write their list. Return the missing ones; the backup continues without them.

    Raises BackupError if all are missing: then it is the wrong store.
    """
    missing: list[str] = []
    with tempfile.TemporaryFile() as listed:
        for sha256 in digests:
            try:
                size = store.size(sha256)
                if size is None:
                    raise ArtifactMissingError(sha256)
                with store.open(sha256) as file:
                    if put(sha256, size, file):
                        backup_result.copied += 1
                        backup_result.copied_bytes += size
            except (ArtifactMissingError, ArtifactAlteredError, FileNotFoundError):
                missing.append(sha256)
                continue
            backup_result.objects += 1
            listed.write(f"{sha256} {size}\n".encode())
        if missing and not backup_result.objects:
            raise BackupError(
                f"none of the {len(missing)} referenced artifacts is in the store. "
                "Check that it is the store of this platform"
            )
        listed.seek(0)
        out.packed(OBJECTS, read_blocks(listed))
    return missing


def _build_tar_put(out: BackupWriter) -> Put:
    def put(sha256: str, size: int, file: IO[bytes]) -> bool:
        out.object(sha256, size, file)
        return True

    return put


def _write_objects_to(directory: Path) -> Put:
    """Store artifacts as files below `objects`, each once: the next backup copies only new ones."""
    objects = directory / "objects"
    objects.mkdir(mode=0o700, exist_ok=True)

    def put(sha256: str, size: int, file: IO[bytes]) -> bool:
        place = objects / sha256[:2] / sha256[2:]
        if place.is_file() and place.stat().st_size == size:
            return False
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with write_incoming(objects, read_blocks(file), size) as (fresh, stored):  # type: ignore[arg-type]
            if stored.sha256 != sha256:
                raise ArtifactAlteredError(sha256)
            fresh.chmod(0o400)
            os.replace(fresh, place)  # noqa: PTH105 - the name states that it replaces
        sync_directory(place.parent)
        return True

    return put

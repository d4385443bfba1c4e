"""Makes a backup while the platform runs.

The rows are of one moment. The artifacts are copied after it: they are stored before the row that names them and never
change, so whatever a row of that moment names is there; and retention deletes none of them as long as this runs.
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
from typing import IO, Any

from culprit.backup import rows
from culprit.backup.archive import FORMAT, FORMAT_VERSION, OBJECTS, SUFFIX, Refused, Writer, writing
from culprit.config import Settings
from culprit.infra.artifacts import (
    ArtifactAltered,
    ArtifactMissing,
    ArtifactStore,
    blocks,
    sync_directory,
    write_incoming,
)
from culprit.kit.version import VERSION

Json = dict[str, Any]


@dataclass(slots=True)
class Made:
    """What was written, and how long it took. `copied` are artifacts that a directory did not have yet."""

    path: Path
    tables: int = 0
    rows: int = 0
    objects: int = 0
    copied: int = 0
    copied_bytes: int = 0
    missing: int = 0
    bytes: int = 0
    seconds: float = 0.0


def key_marks(config: Settings) -> Json:
    """By what a key is recognised that may open the credentials of a backup; tells nothing of the key."""
    try:
        ring = config.key_ring()
    except (ValueError, OSError):
        return {}
    return {str(version): key_mark(key) for version, key in ring.items()}


def key_mark(key: bytes) -> str:
    """32 hex digits that only this key gives."""
    return hmac.new(key, b"culprit backup: which key is this", hashlib.sha256).hexdigest()[:32]


def make(config: Settings, store: ArtifactStore, target: Path, said: Callable[[str], None]) -> Made:
    """A backup at `target`: a directory takes artifacts once for all its backups, a file holds everything.

    Raises Refused.
    """
    began = time.monotonic()
    directory = target.is_dir() or (not target.exists() and target.suffix == "")
    path = target / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}{SUFFIX}" if directory else target
    if path.exists():
        raise Refused(f"{path} is there already; a backup is never overwritten")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Made(path)

    def scratch() -> IO[bytes]:
        return tempfile.TemporaryFile(dir=path.parent)

    made_at = datetime.now(UTC).isoformat()
    with rows.one_moment(config.database_url) as connection, writing(path, scratch) as out:
        at = rows.revision(connection)
        if at is None:
            raise Refused("there is nothing to back up: the database has no tables")
        if at != rows.newest():
            ours = rows.newest()
            raise Refused(
                f"the database has the tables {at}, this Culprit makes {ours}: ./culprit up brings them up"
            )
        tables = []
        for name in rows.tables():
            names = rows.columns(connection, name)
            told = out.packed(f"tables/{name}.zst", rows.copy_out(connection, name, names))
            tables.append({"name": name, "columns": names, "rows": told["rows"]})
            made.tables += 1
            made.rows += told["rows"]
        said(f"{made.rows} rows of {made.tables} tables")
        put = _beside(path.parent) if directory else _inside(out)
        missing = _objects(out, store, rows.digests(connection), put, made)
        said(f"{made.objects} artifacts, {made.copied} of them new here")
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
                "made_at": made_at,
                "tables": tables,
                "objects": made.objects,
                "objects_inside": not directory,
                "missing": missing,
                "audit": {"head": last[0], "seq": last[1]} if last else None,
                "keys": key_marks(config),
            }
        )
    made.missing = len(missing)
    made.bytes = path.stat().st_size
    made.seconds = time.monotonic() - began
    if missing:
        said(
            f"{len(missing)} artifacts that rows name were not in the store: ./culprit storage check names them"
        )
    return made


Put = Callable[[str, int, IO[bytes]], bool]


def _objects(out: Writer, store: ArtifactStore, digests: Iterator[str], put: Put, made: Made) -> list[str]:
    """Copies artifacts and then lists them. Returns those that are not there, which a backup must survive.

    Raises Refused where none is: that is no damage, but another store.
    """
    missing: list[str] = []
    with tempfile.TemporaryFile() as listed:
        for sha256 in digests:
            try:
                size = store.size(sha256)
                if size is None:
                    raise ArtifactMissing(sha256)
                with store.open(sha256) as file:
                    if put(sha256, size, file):
                        made.copied += 1
                        made.copied_bytes += size
            except (ArtifactMissing, ArtifactAltered, FileNotFoundError):
                missing.append(sha256)
                continue
            made.objects += 1
            listed.write(f"{sha256} {size}\n".encode())
        if missing and not made.objects:
            raise Refused(
                f"not one of the {len(missing)} artifacts that rows name is in the store: is this the platform's own?"
            )
        listed.seek(0)
        out.packed(OBJECTS, blocks(listed))
    return missing


def _inside(out: Writer) -> Put:
    def put(sha256: str, size: int, file: IO[bytes]) -> bool:
        out.object(sha256, size, file)
        return True

    return put


def _beside(directory: Path) -> Put:
    """Artifacts as files below `objects`, each one only once: the next backup copies what is new."""
    objects = directory / "objects"
    objects.mkdir(mode=0o700, exist_ok=True)

    def put(sha256: str, size: int, file: IO[bytes]) -> bool:
        place = objects / sha256[:2] / sha256[2:]
        if place.is_file() and place.stat().st_size == size:
            return False
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with write_incoming(objects, blocks(file), size) as (fresh, stored):  # type: ignore[arg-type]
            if stored.sha256 != sha256:
                raise ArtifactAltered(sha256)
            fresh.chmod(0o400)
            os.replace(fresh, place)  # noqa: PTH105 - says that it replaces
        sync_directory(place.parent)
        return True

    return put

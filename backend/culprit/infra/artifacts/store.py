"""Artifact store: immutable bytes, addressed by their SHA-256.

The address is the digest of the bytes *as stored*. Compressed output stays compressed and is addressed as
such, so that `sha256sum` verifies a file without unpacking untrusted data. Content never changes; the same
bytes are stored once.

A file is written to a temporary name, flushed to disk, renamed, and its directory flushed, before any row
refers to it: a power failure may leave bytes without a row, never a row without its bytes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Protocol

from culprit.infra.artifacts.blob_files import (
    ArtifactAlteredError,
    ArtifactMissingError,
    ReadCallback,
    StoredBlob,
    hash_blocks,
    ignore_read,
    is_digest,
    read_blocks,
    sync_directory,
    write_incoming,
)
from culprit.infra.artifacts.s3 import Bucket
from culprit.infra.settings import Settings, get_settings

MIN_FREE_SHARE = 0.10
MIN_FREE_BYTES = 5 << 30
CACHE_BYTES = 4 << 30
#: Deleting a file takes less than a minute; files that wait longer were left by a process that died.
RENAMED_S = 60.0


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """Bytes in the store, and when they were stored."""

    sha256: str
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class StoreSpace:
    """Bytes of the disk that holds artifacts, or of the upload directory of a bucket."""

    total: int
    free: int

    @property
    def is_low(self) -> bool:
        """Whether new captures are refused: less than 10 % or less than 5 GiB free.

        On small disks, where 5 GiB would be half of the disk, only the share counts.
        """
        floor = max(self.total * MIN_FREE_SHARE, min(MIN_FREE_BYTES, self.total * 0.25))
        return self.free < floor


class ArtifactStore(Protocol):
    """Operations of every store."""

    def put(self, chunks: Iterable[bytes], limit: int) -> StoredBlob:
        """Store a stream of at most `limit` bytes. Raises ArtifactTooLargeError."""
        ...

    def adopt(self, path: Path, sha256: str) -> StoredBlob:
        """Move a finished local file into the store. The caller has computed its digest."""
        ...

    def path(self, sha256: str) -> Path:
        """Return a local file with these bytes, for reading and mapping only. Raises ArtifactMissingError."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Return the bytes as a seekable file. Raises ArtifactMissingError."""
        ...

    def exists(self, sha256: str) -> bool:
        """Return whether the store contains the digest."""
        ...

    def delete(self, sha256: str) -> None:
        """Delete the bytes. No error if they do not exist."""
        ...

    def delete_settled(self, sha256: str, before: datetime) -> bool:
        """Delete bytes that were stored before `before`. Return False if they were stored again since."""
        ...

    def size(self, sha256: str) -> int | None:
        """Return the size in bytes, or None if they do not exist."""
        ...

    def walk(self) -> Iterator[BlobInfo]:
        """Yield all stored bytes, in no order."""
        ...

    def verify(self, sha256: str, on_read: ReadCallback = ignore_read) -> None:
        """Read all bytes and verify their digest; call `on_read` with the size of each block.

        Raises ArtifactAlteredError or ArtifactMissingError.
        """
        ...

    def space(self) -> StoreSpace:
        """Return total and free space."""
        ...


class DirectoryStore:
    """Store artifacts as files `objects/ab/cdef…` below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = root / "objects"
        self.incoming = root / "incoming"
        for directory in (self.objects, self.incoming):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._restore_interrupted()

    def _restore_interrupted(self) -> None:
        """Restore files of an interrupted deletion; the storage check finds unreferenced ones."""
        for dismissed in self.incoming.glob("going-*"):
            with contextlib.suppress(FileNotFoundError):
                if dismissed.stat().st_ctime < time.time() - RENAMED_S:
                    self._move_into_place(dismissed, dismissed.name.removeprefix("going-"))

    def put(self, chunks: Iterable[bytes], limit: int) -> StoredBlob:
        """See ArtifactStore."""
        with write_incoming(self.incoming, chunks, limit) as (path, stored):
            self._move_into_place(path, stored.sha256)
        return stored

    def adopt(self, path: Path, sha256: str) -> StoredBlob:
        """See ArtifactStore. A file on the same disk is renamed, others are copied."""
        size = path.stat().st_size
        if path.stat().st_dev != self.objects.stat().st_dev:
            with path.open("rb") as stream:
                stored = self.put(read_blocks(stream), size)
            path.unlink()
            if stored.sha256 != sha256:
                raise ArtifactAlteredError(sha256)
            return stored
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        self._move_into_place(path, sha256)
        return StoredBlob(sha256, size)

    def _move_into_place(self, path: Path, sha256: str) -> None:
        place = self._build_object_path(sha256)
        if not place.parent.exists():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            sync_directory(self.objects)
        path.chmod(0o400)
        path.replace(place)
        sync_directory(place.parent)

    def _build_object_path(self, sha256: str) -> Path:
        if not is_digest(sha256):
            raise ArtifactMissingError(sha256)
        return self.objects / sha256[:2] / sha256[2:]

    def path(self, sha256: str) -> Path:
        """See ArtifactStore."""
        place = self._build_object_path(sha256)
        if not place.is_file():
            raise ArtifactMissingError(sha256)
        return place

    def open(self, sha256: str) -> BinaryIO:
        """See ArtifactStore."""
        return self.path(sha256).open("rb")

    def exists(self, sha256: str) -> bool:
        """See ArtifactStore."""
        return is_digest(sha256) and self._build_object_path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """See ArtifactStore."""
        self._build_object_path(sha256).unlink(missing_ok=True)

    def delete_settled(self, sha256: str, before: datetime) -> bool:
        """See ArtifactStore.

        The file is renamed first, so that storing the same bytes concurrently creates a new file.
        """
        place, dismissed = self._build_object_path(sha256), self.incoming / f"going-{sha256}"
        try:
            place.rename(dismissed)
        except FileNotFoundError:
            return True
        young = dismissed.stat().st_mtime >= before.timestamp()
        if young:
            with contextlib.suppress(FileExistsError):
                place.hardlink_to(dismissed)
        dismissed.unlink()
        return not young

    def size(self, sha256: str) -> int | None:
        """See ArtifactStore."""
        try:
            return self.path(sha256).stat().st_size
        except (ArtifactMissingError, FileNotFoundError):
            return None

    def walk(self) -> Iterator[BlobInfo]:
        """See ArtifactStore."""
        for folder in sorted(self.objects.iterdir()):
            with os.scandir(folder) as files:
                inside = [(folder.name + file.name, file) for file in files]
            for digest, file in inside:
                if is_digest(digest):
                    with contextlib.suppress(FileNotFoundError):
                        info = file.stat()
                        yield BlobInfo(digest, info.st_size, datetime.fromtimestamp(info.st_mtime, UTC))

    def verify(self, sha256: str, on_read: ReadCallback = ignore_read) -> None:
        """See ArtifactStore. The pages of the file leave the cache of the kernel, where others need the room."""
        with self.path(sha256).open("rb") as stream:
            digest = hash_blocks(read_blocks(stream), on_read)
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        if digest != sha256:
            raise ArtifactAlteredError(sha256)

    def space(self) -> StoreSpace:
        """See ArtifactStore."""
        usage = shutil.disk_usage(self.root)
        return StoreSpace(usage.total, usage.free)


class BucketStore:
    """Store artifacts as objects of an S3-compatible bucket, with a bounded directory of local copies."""

    def __init__(self, bucket: Bucket, cache: Path, cache_bytes: int = CACHE_BYTES) -> None:
        self.bucket = bucket
        self.cache = DirectoryStore(cache)
        self.cache_bytes = cache_bytes

    def put(self, chunks: Iterable[bytes], limit: int) -> StoredBlob:
        """See ArtifactStore."""
        with write_incoming(self.cache.incoming, chunks, limit) as (path, stored):
            self.bucket.upload(_key(stored.sha256), path)
        return stored

    def adopt(self, path: Path, sha256: str) -> StoredBlob:
        """See ArtifactStore."""
        size = path.stat().st_size
        self.bucket.upload(_key(sha256), path)
        path.unlink()
        return StoredBlob(sha256, size)

    def path(self, sha256: str) -> Path:
        """See ArtifactStore. Download the bytes once and verify them."""
        with contextlib.suppress(ArtifactMissingError):
            result = self.cache.path(sha256)
            os.utime(result)
            return result
        chunks = self.bucket.download(_key(sha256))
        if chunks is None:
            raise ArtifactMissingError(sha256)
        with write_incoming(self.cache.incoming, chunks, limit=1 << 62) as (path, stored):
            if stored.sha256 != sha256:
                raise ArtifactAlteredError(sha256)
            self._evict_copies(stored.size)
            return self.cache.path(self.cache.adopt(path, sha256).sha256)

    def _evict_copies(self, size: int) -> None:
        """Delete the least recently read copies."""
        copies = [(p.stat(), p) for p in self.cache.objects.glob("*/*")]
        copies.sort(key=lambda item: item[0].st_mtime)
        excess = sum(stat.st_size for stat, _ in copies) + size - self.cache_bytes
        for stat, copy in copies:
            if excess <= 0:
                return
            copy.unlink(missing_ok=True)
            excess -= stat.st_size

    def open(self, sha256: str) -> BinaryIO:
        """See ArtifactStore."""
        return self.path(sha256).open("rb")

    def exists(self, sha256: str) -> bool:
        """See ArtifactStore."""
        return is_digest(sha256) and self.bucket.exists(_key(sha256))

    def delete(self, sha256: str) -> None:
        """See ArtifactStore."""
        self.cache.delete(sha256)
        self.bucket.delete(_key(sha256))

    def delete_settled(self, sha256: str, before: datetime) -> bool:
        """See ArtifactStore. A bucket cannot rename: one request passes between check and deletion."""
        at = self.bucket.stored_at(_key(sha256))
        if at is not None and at >= before:
            return False
        self.delete(sha256)
        return True

    def size(self, sha256: str) -> int | None:
        """See ArtifactStore."""
        return self.bucket.size(_key(sha256)) if is_digest(sha256) else None

    def walk(self) -> Iterator[BlobInfo]:
        """See ArtifactStore."""
        for key, size, at in self.bucket.walk("objects/"):
            digest = key.removeprefix("objects/").replace("/", "")
            if is_digest(digest):
                yield BlobInfo(digest, size, at)

    def verify(self, sha256: str, on_read: ReadCallback = ignore_read) -> None:
        """See ArtifactStore. Reads the bucket, not the copy."""
        chunks = self.bucket.download(_key(sha256))
        if chunks is None:
            raise ArtifactMissingError(sha256)
        if hash_blocks(chunks, on_read) != sha256:
            raise ArtifactAlteredError(sha256)

    def space(self) -> StoreSpace:
        """See ArtifactStore: space of the local disk, which all uploads and copies use."""
        return self.cache.space()


def _key(sha256: str) -> str:
    if not is_digest(sha256):
        raise ArtifactMissingError(sha256)
    return f"objects/{sha256[:2]}/{sha256[2:]}"


def make_store(config: Settings) -> ArtifactStore:
    """Return the configured store: a bucket, or a directory below CULPRIT_HOME."""
    if config.s3_bucket is None:
        return DirectoryStore(config.home / "artifacts")
    secret = config.s3_secret_access_key
    bucket = Bucket(
        name=config.s3_bucket,
        endpoint=config.s3_endpoint,
        region=config.s3_region,
        access_key_id=config.s3_access_key_id,
        secret_access_key=secret.get_secret_value() if secret else None,
    )
    return BucketStore(bucket, config.home / "artifact-copies")


@lru_cache(maxsize=1)
def artifact_store() -> ArtifactStore:
    """Return the store of this process."""
    return make_store(get_settings())

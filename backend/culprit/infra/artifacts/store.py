"""The artifact store: immutable bytes under the SHA-256 of themselves.

The address is the digest of the bytes *as they are stored*. What comes home compressed is kept compressed and
addressed as such, so that whoever has the file can check it with `sha256sum`, and checking never means
unpacking something hostile. Nothing is ever changed; the same bytes are stored once.

A file is written beside its place, flushed to the disk, renamed, and its directory flushed, all before
anybody writes a row about it: a power cut may leave bytes without a row, never a row without its bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Protocol

from culprit.config import Settings, settings
from culprit.infra.s3 import Bucket

BLOCK = 1 << 20
MIN_FREE_SHARE = 0.10
MIN_FREE_BYTES = 5 << 30
CACHE_BYTES = 4 << 30
#: To delete one file takes no minute; what lies aside for longer was left there.
TAKEN_ASIDE_S = 60.0
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class ArtifactTooLarge(Exception):
    """More bytes than the caller allowed; nothing was stored."""


class ArtifactMissing(Exception):
    """The store does not have this digest."""


class ArtifactAltered(Exception):
    """The bytes are not those of the digest."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where bytes are now: their digest in lower-case hex, and how many."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Found:
    """Bytes that are in the store, and since when."""

    sha256: str
    size: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes on the disk that holds artifacts or, with a bucket, what is on its way there."""

    total: int
    free: int

    @property
    def low(self) -> bool:
        """Whether new captures are refused: less than 10 % or less than 5 GiB left.

        On small disks, where 5 GiB would be half of everything, the share alone decides.
        """
        floor = max(self.total * MIN_FREE_SHARE, min(MIN_FREE_BYTES, self.total * 0.25))
        return self.free < floor


class ArtifactStore(Protocol):
    """What every store can do."""

    def put(self, chunks: Iterable[bytes], limit: int) -> Stored:
        """Stores a stream of at most `limit` bytes; raises ArtifactTooLarge."""
        ...

    def adopt(self, path: Path, sha256: str) -> Stored:
        """Takes a finished local file over, whose digest the caller has computed; the file is gone after."""
        ...

    def path(self, sha256: str) -> Path:
        """A local file with these bytes, for reading and mapping only; raises ArtifactMissing."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, seekable; raises ArtifactMissing."""
        ...

    def exists(self, sha256: str) -> bool:
        """Whether the store has them."""
        ...

    def delete(self, sha256: str) -> None:
        """Forgets them; no error where they are already gone."""
        ...

    def delete_settled(self, sha256: str, before: datetime) -> bool:
        """Forgets bytes that were stored before that moment; False where somebody has stored them again since."""
        ...

    def size(self, sha256: str) -> int | None:
        """How many bytes they are; None where they are not there."""
        ...

    def walk(self) -> Iterator[Found]:
        """Everything that is stored, in no order."""
        ...

    def verify(self, sha256: str) -> None:
        """Reads all bytes again; raises ArtifactAltered or ArtifactMissing."""
        ...

    def space(self) -> Space:
        """How much room there is."""
        ...


def blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[bytes]:
    """A file as chunks."""
    while chunk := stream.read(size):
        yield chunk


def sync_directory(path: Path) -> None:
    """Makes the names in a directory survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class DirectoryStore:
    """Artifacts as files `objects/ab/cdef…` below one directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = root / "objects"
        self.incoming = root / "incoming"
        for directory in (self.objects, self.incoming):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._put_back()

    def _put_back(self) -> None:
        """What was taken aside to be deleted by somebody who died: a check finds what nobody needs."""
        for aside in self.incoming.glob("going-*"):
            with contextlib.suppress(FileNotFoundError):
                if aside.stat().st_ctime < time.time() - TAKEN_ASIDE_S:
                    self._settle(aside, aside.name.removeprefix("going-"))

    def put(self, chunks: Iterable[bytes], limit: int) -> Stored:
        """See ArtifactStore."""
        with write_incoming(self.incoming, chunks, limit) as (path, stored):
            self._settle(path, stored.sha256)
        return stored

    def adopt(self, path: Path, sha256: str) -> Stored:
        """See ArtifactStore. A file on the same disk is renamed, others are copied."""
        size = path.stat().st_size
        if path.stat().st_dev != self.objects.stat().st_dev:
            with path.open("rb") as stream:
                stored = self.put(blocks(stream), size)
            path.unlink()
            if stored.sha256 != sha256:
                raise ArtifactAltered(sha256)
            return stored
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        self._settle(path, sha256)
        return Stored(sha256, size)

    def _settle(self, path: Path, sha256: str) -> None:
        place = self._place(sha256)
        if not place.parent.exists():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            sync_directory(self.objects)
        path.chmod(0o400)
        path.replace(place)
        sync_directory(place.parent)

    def _place(self, sha256: str) -> Path:
        if not is_digest(sha256):
            raise ArtifactMissing(sha256)
        return self.objects / sha256[:2] / sha256[2:]

    def path(self, sha256: str) -> Path:
        """See ArtifactStore."""
        place = self._place(sha256)
        if not place.is_file():
            raise ArtifactMissing(sha256)
        return place

    def open(self, sha256: str) -> BinaryIO:
        """See ArtifactStore."""
        return self.path(sha256).open("rb")

    def exists(self, sha256: str) -> bool:
        """See ArtifactStore."""
        return is_digest(sha256) and self._place(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """See ArtifactStore."""
        self._place(sha256).unlink(missing_ok=True)

    def delete_settled(self, sha256: str, before: datetime) -> bool:
        """See ArtifactStore. The file is taken aside first: whoever stores the same bytes meanwhile makes a new one."""
        place, aside = self._place(sha256), self.incoming / f"going-{sha256}"
        try:
            place.rename(aside)
        except FileNotFoundError:
            return True
        young = aside.stat().st_mtime >= before.timestamp()
        if young:
            with contextlib.suppress(FileExistsError):
                place.hardlink_to(aside)
        aside.unlink()
        return not young

    def size(self, sha256: str) -> int | None:
        """See ArtifactStore."""
        try:
            return self.path(sha256).stat().st_size
        except (ArtifactMissing, FileNotFoundError):
            return None

    def walk(self) -> Iterator[Found]:
        """See ArtifactStore."""
        for folder in sorted(self.objects.iterdir()):
            with os.scandir(folder) as files:
                inside = [(folder.name + file.name, file) for file in files]
            for digest, file in inside:
                if is_digest(digest):
                    with contextlib.suppress(FileNotFoundError):
                        info = file.stat()
                        yield Found(digest, info.st_size, datetime.fromtimestamp(info.st_mtime, UTC))

    def verify(self, sha256: str) -> None:
        """See ArtifactStore."""
        with self.path(sha256).open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
                raise ArtifactAltered(sha256)

    def space(self) -> Space:
        """See ArtifactStore."""
        usage = shutil.disk_usage(self.root)
        return Space(usage.total, usage.free)


class BucketStore:
    """Artifacts as objects of an S3-compatible bucket, with a bounded directory of copies for reading."""

    def __init__(self, bucket: Bucket, cache: Path, cache_bytes: int = CACHE_BYTES) -> None:
        self.bucket = bucket
        self.cache = DirectoryStore(cache)
        self.cache_bytes = cache_bytes

    def put(self, chunks: Iterable[bytes], limit: int) -> Stored:
        """See ArtifactStore."""
        with write_incoming(self.cache.incoming, chunks, limit) as (path, stored):
            self.bucket.upload(_key(stored.sha256), path)
        return stored

    def adopt(self, path: Path, sha256: str) -> Stored:
        """See ArtifactStore."""
        size = path.stat().st_size
        self.bucket.upload(_key(sha256), path)
        path.unlink()
        return Stored(sha256, size)

    def path(self, sha256: str) -> Path:
        """See ArtifactStore. Fetches the bytes once and checks them on the way."""
        with contextlib.suppress(ArtifactMissing):
            found = self.cache.path(sha256)
            os.utime(found)
            return found
        chunks = self.bucket.download(_key(sha256))
        if chunks is None:
            raise ArtifactMissing(sha256)
        with write_incoming(self.cache.incoming, chunks, limit=1 << 62) as (path, stored):
            if stored.sha256 != sha256:
                raise ArtifactAltered(sha256)
            self._make_room(stored.size)
            return self.cache.path(self.cache.adopt(path, sha256).sha256)

    def _make_room(self, size: int) -> None:
        """Forgets the copies that were read longest ago."""
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
        """See ArtifactStore. A bucket cannot take aside; between look and deletion lies one request."""
        at = self.bucket.stored_at(_key(sha256))
        if at is not None and at >= before:
            return False
        self.delete(sha256)
        return True

    def size(self, sha256: str) -> int | None:
        """See ArtifactStore."""
        return self.bucket.size(_key(sha256)) if is_digest(sha256) else None

    def walk(self) -> Iterator[Found]:
        """See ArtifactStore."""
        for key, size, at in self.bucket.walk("objects/"):
            digest = key.removeprefix("objects/").replace("/", "")
            if is_digest(digest):
                yield Found(digest, size, at)

    def verify(self, sha256: str) -> None:
        """See ArtifactStore. Reads the bucket, not the copy."""
        chunks = self.bucket.download(_key(sha256))
        if chunks is None:
            raise ArtifactMissing(sha256)
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        if digest.hexdigest() != sha256:
            raise ArtifactAltered(sha256)

    def space(self) -> Space:
        """See ArtifactStore: of the local disk, over which everything passes."""
        return self.cache.space()


def is_digest(text: str) -> bool:
    """Whether this is a SHA-256 in lower-case hex, and so can be an address."""
    return _DIGEST.match(text) is not None


def _key(sha256: str) -> str:
    if not is_digest(sha256):
        raise ArtifactMissing(sha256)
    return f"objects/{sha256[:2]}/{sha256[2:]}"


@contextlib.contextmanager
def write_incoming(directory: Path, chunks: Iterable[bytes], limit: int) -> Iterator[tuple[Path, Stored]]:
    """A flushed file with what `chunks` yields, and its digest; at the end it is removed if still there."""
    handle, name = tempfile.mkstemp(dir=directory)
    path = Path(name)
    try:
        digest, size = hashlib.sha256(), 0
        with os.fdopen(handle, "wb") as out:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise ArtifactTooLarge(limit)
                digest.update(chunk)
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        yield path, Stored(digest.hexdigest(), size)
    finally:
        path.unlink(missing_ok=True)


def make_store(config: Settings) -> ArtifactStore:
    """The store that the settings name: a bucket, or a directory below CULPRIT_HOME."""
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
    """The store of this process."""
    return make_store(settings())

"""Write, hash and check files of the artifact store."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 20
ReadCallback = Callable[[int], object]
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class ArtifactTooLargeError(Exception):
    """More bytes than the caller allowed. Nothing was stored."""


class ArtifactMissingError(Exception):
    """The store does not contain this digest."""


class ArtifactAlteredError(Exception):
    """The bytes do not match the digest."""


def is_out_of_space(error: OSError) -> bool:
    """Return whether a write failed because the file system, or the quota of the user, is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """Stored bytes: their digest in lower-case hex, and their size."""

    sha256: str
    size: int


def read_blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[bytes]:
    """Yield a file as chunks."""
    while chunk := stream.read(size):
        yield chunk


def ignore_read(size: int) -> None:
    """Do nothing with the size of a block."""


def hash_blocks(blocks: Iterable[bytes], on_read: ReadCallback) -> str:
    """Return the SHA-256 of blocks in hex; call `on_read` with the size of each."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
        on_read(len(block))
    return digest.hexdigest()


def sync_directory(path: Path) -> None:
    """Flush a directory, so that its names survive a power failure."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_digest(text: str) -> bool:
    """Return whether the text is a SHA-256 in lower-case hex."""
    return _DIGEST.match(text) is not None


@contextlib.contextmanager
def write_incoming(directory: Path, chunks: Iterable[bytes], limit: int) -> Iterator[tuple[Path, StoredBlob]]:
    """Yield a flushed file with the bytes of `chunks`, and its digest.

    The file is deleted at the end if it still exists.
    """
    handle, name = tempfile.mkstemp(dir=directory)
    path = Path(name)
    try:
        digest, size = hashlib.sha256(), 0
        with os.fdopen(handle, "wb") as out:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise ArtifactTooLargeError(limit)
                digest.update(chunk)
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        yield path, StoredBlob(digest.hexdigest(), size)
    finally:
        path.unlink(missing_ok=True)

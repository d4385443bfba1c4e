"""Backup format: a tar file that ends with a manifest and its digest.

    tables/<name>.zst   rows in the text format of PostgreSQL's COPY, compressed with zstd
    objects.txt.zst     a line `sha256 bytes` for each artifact of the backup
    objects/<sha256>    the artifacts, unless they are stored in the same directory
    manifest.json       format, versions, and rows, bytes and SHA-256 of every member
    manifest.sha256     digest of the manifest

The text format of COPY is the same in every version of PostgreSQL, so that a backup is portable. A file
without its last member is incomplete; a backup is written under a temporary name and renamed at the end.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import zstandard

from culprit.json_types import Json

FORMAT = "culprit-backup"
FORMAT_VERSION = 1
SUFFIX = ".culprit-backup"
MANIFEST, SEAL, OBJECTS = "manifest.json", "manifest.sha256", "objects.txt.zst"
MAX_MANIFEST = 64 << 20
CHUNK_BYTES = 1 << 20


class BackupError(Exception):
    """A backup cannot be created or restored. The message states why and what to do."""


class BackupWriter:
    """Write members, each with its digest. No member may follow `seal`."""

    def __init__(self, tar: tarfile.TarFile, scratch: Callable[[], IO[bytes]]) -> None:
        self._tar = tar
        self._scratch = scratch
        self.members: list[Json] = []

    def packed(self, name: str, pieces: Iterable[bytes]) -> Json:
        """Write a compressed member from pieces and count its lines.

        A tar needs the size first, hence the scratch file.
        """
        with self._scratch() as file:
            rows = 0
            with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as out:
                for piece in pieces:
                    rows += bytes(piece).count(b"\n")
                    out.write(piece)
            size = file.tell()
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            file.seek(0)
            self._add_member(name, size, file)
        reported = {"name": name, "rows": rows, "bytes": size, "sha256": digest}
        self.members.append(reported)
        return reported

    def object(self, sha256: str, size: int, file: IO[bytes]) -> None:
        """Write an artifact. Raises BackupError if it does not match its digest."""
        reading = _HashingFile(file)
        self._add_member(f"objects/{sha256}", size, reading)
        if reading.digest.hexdigest() != sha256:
            raise BackupError(f"the artifact {sha256} is altered. For details run ./culprit storage check")

    def seal(self, manifest: Json) -> None:
        """Write the manifest and its digest, which completes the backup."""
        text = json.dumps({**manifest, "members": self.members}, indent=1, sort_keys=True).encode()
        self._add_member(MANIFEST, len(text), io.BytesIO(text))
        seal = f"{hashlib.sha256(text).hexdigest()}\n".encode()
        self._add_member(SEAL, len(seal), io.BytesIO(seal))

    def _add_member(self, name: str, size: int, file: IO[bytes] | _HashingFile) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._tar.addfile(member, file)


class _HashingFile:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


@contextmanager
def open_writer(path: Path, scratch: Callable[[], IO[bytes]]) -> Iterator[BackupWriter]:
    """Yield a writer for a new file that appears at `path` only if the block succeeds."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                yield BackupWriter(tar, scratch)
            file.flush()
            os.fsync(file.fileno())
        # Use a link and not a rename: it does not replace an existing backup.
        path.hardlink_to(partial)
    finally:
        partial.unlink(missing_ok=True)
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(handle)
        os.close(handle)


class BackupReader:
    """A complete backup, opened for reading. Raises BackupError for other files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise BackupError(f"cannot read {path}: {error.strerror}") from None
        try:
            self._tar = tarfile.open(fileobj=self._file, mode="r:")  # noqa: SIM115 - closed by `close`
            self._at = {member.name: member for member in self._tar if member.isfile()}
        except (OSError, tarfile.TarError) as error:
            self._file.close()
            raise BackupError(f"{path} is not a backup: {error}") from None
        try:
            self.manifest = self._read_manifest()
        except BackupError:
            self.close()
            raise

    def __enter__(self) -> BackupReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._tar.close()
        self._file.close()

    def _read_manifest(self) -> Json:
        if MANIFEST not in self._at or SEAL not in self._at or self._at[MANIFEST].size > MAX_MANIFEST:
            raise BackupError(f"{self.path} is incomplete: writing was interrupted. Use another backup")
        text, seal = self._read_member(MANIFEST), self._read_member(SEAL).strip()
        if hashlib.sha256(text).hexdigest().encode() != seal:
            raise BackupError(f"{self.path} is altered: its manifest does not match its checksum")
        manifest: Json = json.loads(text)
        if manifest.get("format") != FORMAT:
            raise BackupError(f"{self.path} is not a backup of Culprit")
        if manifest["format_version"] > FORMAT_VERSION:
            raise BackupError(
                f"{self.path} was created by Culprit {manifest['culprit']}, which is newer. "
                "Restore it with that version"
            )
        return manifest

    def _read_member(self, name: str) -> bytes:
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        return file.read()

    def check(self) -> None:
        """Verify the digest of every member. Raises BackupError."""
        for member in self.manifest["members"]:
            if self._find_digest(member["name"]) != member["sha256"]:
                raise BackupError(f"{self.path} is altered: {member['name']} does not match its checksum")
        for sha256, size in self.objects():
            if self.manifest["objects_inside"]:
                name = f"objects/{sha256}"
                whole = name in self._at and self._at[name].size == size and self._find_digest(name) == sha256
            else:
                whole = _compute_file_digest(self._get_object_directory(sha256)) == sha256
            if not whole:
                raise BackupError(f"{self.path} is altered: the artifact {sha256} is missing or changed")

    def _find_digest(self, name: str) -> str | None:
        if name not in self._at:
            return None
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]

    def _get_object_directory(self, sha256: str) -> Path:
        return self.path.parent / "objects" / sha256[:2] / sha256[2:]

    def rows(self, name: str) -> Iterator[bytes]:
        """Yield an uncompressed member in pieces."""
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        with zstandard.ZstdDecompressor().stream_reader(file) as plain:
            while piece := plain.read(CHUNK_BYTES):
                yield piece

    def objects(self) -> Iterator[tuple[str, int]]:
        """Yield digest and size of every artifact of the backup."""
        rest = b""
        for piece in self.rows(OBJECTS):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                sha256, _, size = line.decode("ascii").partition(" ")
                yield sha256, int(size)

    def open(self, sha256: str) -> IO[bytes]:
        """Return one artifact."""
        if not self.manifest["objects_inside"]:
            return self._get_object_directory(sha256).open("rb")
        file = self._tar.extractfile(self._at[f"objects/{sha256}"])
        assert file is not None
        return file


def _compute_file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None

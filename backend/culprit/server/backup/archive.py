"""The form of a backup: a tar whose last two members say what is in it, and that this was all.

    tables/<name>.zst   rows as PostgreSQL's COPY writes them (text), packed with zstd
    objects.txt.zst     a line `sha256 bytes` for each artifact that belongs to it
    objects/<sha256>    the artifacts themselves, unless they lie beside it in the same directory
    manifest.json       form, versions, and rows, bytes and SHA-256 of every member
    manifest.sha256     of the manifest

COPY's text is the same in every version of PostgreSQL, and so a backup moves between them. A file without its last
member is no backup; it is written under another name and renamed at the end, so that none is ever seen.
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
from typing import IO, Any

import zstandard

FORMAT = "culprit-backup"
FORMAT_VERSION = 1
SUFFIX = ".culprit-backup"
MANIFEST, SEAL, OBJECTS = "manifest.json", "manifest.sha256", "objects.txt.zst"
MAX_MANIFEST = 64 << 20
PIECE = 1 << 20
Json = dict[str, Any]


class Refused(Exception):
    """Why a backup cannot be made or restored, and what to do; for people."""


class Writer:
    """Members in turn, each with its digest. Nothing may follow `seal`."""

    def __init__(self, tar: tarfile.TarFile, scratch: Callable[[], IO[bytes]]) -> None:
        self._tar = tar
        self._scratch = scratch
        self.members: list[Json] = []

    def packed(self, name: str, pieces: Iterable[bytes]) -> Json:
        """A member out of pieces, packed; its lines are counted. A tar wants the size first, hence the scratch file."""
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
            self._add(name, size, file)
        told = {"name": name, "rows": rows, "bytes": size, "sha256": digest}
        self.members.append(told)
        return told

    def object(self, sha256: str, size: int, file: IO[bytes]) -> None:
        """An artifact. Raises Refused where it is not what its name says."""
        reading = _Hashed(file)
        self._add(f"objects/{sha256}", size, reading)
        if reading.digest.hexdigest() != sha256:
            raise Refused(f"the artifact {sha256} is altered: ./culprit storage check says more")

    def seal(self, manifest: Json) -> None:
        """The manifest and its digest: from here on it is whole."""
        text = json.dumps({**manifest, "members": self.members}, indent=1, sort_keys=True).encode()
        self._add(MANIFEST, len(text), io.BytesIO(text))
        seal = f"{hashlib.sha256(text).hexdigest()}\n".encode()
        self._add(SEAL, len(seal), io.BytesIO(seal))

    def _add(self, name: str, size: int, file: IO[bytes] | _Hashed) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        self._tar.addfile(member, file)


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


@contextmanager
def writing(path: Path, scratch: Callable[[], IO[bytes]]) -> Iterator[Writer]:
    """A new file that appears at `path` when the block ends well, and not at all otherwise."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                yield Writer(tar, scratch)
            file.flush()
            os.fsync(file.fileno())
        # A link and not a rename: it refuses to replace a backup that has appeared meanwhile.
        path.hardlink_to(partial)
    finally:
        partial.unlink(missing_ok=True)
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(handle)
        os.close(handle)


class Reader:
    """A whole backup, opened. Raises Refused for anything else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise Refused(f"cannot read {path}: {error.strerror}") from None
        try:
            self._tar = tarfile.open(fileobj=self._file, mode="r:")  # noqa: SIM115 - closed by `close`
            self._at = {member.name: member for member in self._tar if member.isfile()}
        except (OSError, tarfile.TarError) as error:
            self._file.close()
            raise Refused(f"{path} is no backup: {error}") from None
        try:
            self.manifest = self._manifest()
        except Refused:
            self.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._tar.close()
        self._file.close()

    def _manifest(self) -> Json:
        if MANIFEST not in self._at or SEAL not in self._at or self._at[MANIFEST].size > MAX_MANIFEST:
            raise Refused(f"{self.path} is not whole: its writing was interrupted; take another backup")
        text, seal = self._bytes(MANIFEST), self._bytes(SEAL).strip()
        if hashlib.sha256(text).hexdigest().encode() != seal:
            raise Refused(f"{self.path} is altered: its table of contents does not match its checksum")
        manifest: Json = json.loads(text)
        if manifest.get("format") != FORMAT:
            raise Refused(f"{self.path} is no backup of Culprit")
        if manifest["format_version"] > FORMAT_VERSION:
            raise Refused(
                f"{self.path} was made by Culprit {manifest['culprit']}, which is newer: restore with that"
            )
        return manifest

    def _bytes(self, name: str) -> bytes:
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        return file.read()

    def check(self) -> None:
        """Holds every member against its digest. Raises Refused."""
        for member in self.manifest["members"]:
            if self._digest(member["name"]) != member["sha256"]:
                raise Refused(f"{self.path} is altered: {member['name']} does not match its checksum")
        for sha256, size in self.objects():
            if self.manifest["objects_inside"]:
                name = f"objects/{sha256}"
                whole = name in self._at and self._at[name].size == size and self._digest(name) == sha256
            else:
                whole = _file_digest(self._beside(sha256)) == sha256
            if not whole:
                raise Refused(f"{self.path} is altered: the artifact {sha256} is missing or not what it was")

    def _digest(self, name: str) -> str | None:
        if name not in self._at:
            return None
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]

    def _beside(self, sha256: str) -> Path:
        return self.path.parent / "objects" / sha256[:2] / sha256[2:]

    def rows(self, name: str) -> Iterator[bytes]:
        """A packed member, unpacked piece by piece."""
        file = self._tar.extractfile(self._at[name])
        assert file is not None
        with zstandard.ZstdDecompressor().stream_reader(file) as plain:
            while piece := plain.read(PIECE):
                yield piece

    def objects(self) -> Iterator[tuple[str, int]]:
        """Digest and bytes of every artifact that belongs to it."""
        rest = b""
        for piece in self.rows(OBJECTS):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                sha256, _, size = line.decode("ascii").partition(" ")
                yield sha256, int(size)

    def open(self, sha256: str) -> IO[bytes]:
        """One artifact."""
        if not self.manifest["objects_inside"]:
            return self._beside(sha256).open("rb")
        file = self._tar.extractfile(self._at[f"objects/{sha256}"])
        assert file is not None
        return file


def _file_digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None

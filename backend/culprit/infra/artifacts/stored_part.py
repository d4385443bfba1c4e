"""Stored parts of artifacts for parsers: verified against their digest, unpacked under limits."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from collectors.profiles.limits import DEFAULT, BoundedReader, Encoding, ReaderLimits
from culprit.infra.sandbox.inputs import open_input


class PartAlteredError(Exception):
    """The stored bytes do not match their digest."""


class _Unpacked(io.RawIOBase):
    """A BoundedReader as a raw stream; its exceptions pass through."""

    def __init__(self, reader: BoundedReader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._reader.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._reader.close()
        super().close()


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One part in the artifact store (a `collectors.contract.Part`); `sha256` is of the file as stored."""

    sha256: str
    size: int
    path: Path
    encoding: Encoding
    limits: ReaderLimits = DEFAULT

    def check(self) -> None:
        """Raise PartAlteredError if the file does not match its digest."""
        with open_input(self.path) as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != self.sha256:
                raise PartAlteredError(self.sha256)

    def reader(self) -> BoundedReader:
        """Return the unpacked bytes under limits; reading can raise ImportRefusedError."""
        return BoundedReader(open_input(self.path), self.encoding, self.limits)

    def open(self) -> BinaryIO:
        """Return the unpacked bytes as a buffered stream; reading can raise ImportRefusedError."""
        return cast(BinaryIO, io.BufferedReader(_Unpacked(self.reader()), 1 << 16))

    def read(self, limit: int) -> bytes:
        """Return at most `limit` unpacked bytes."""
        with self.open() as stream:
            return stream.read(limit)

"""Stored parts of artifacts as parsers see them: checked against their digest, unpacked under limits."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from collectors.parse.limits import DEFAULT, BoundedReader, Encoding, Limits
from culprit.infra.inputs import open_input


class Altered(Exception):
    """The stored bytes are no longer those that came home."""


class _Unpacked(io.RawIOBase):
    """A BoundedReader as a raw stream; what it refuses passes through as it was raised."""

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
    limits: Limits = DEFAULT

    def check(self) -> None:
        """Raises Altered where the file is not what its digest says."""
        with open_input(self.path) as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != self.sha256:
                raise Altered(self.sha256)

    def reader(self) -> BoundedReader:
        """The unpacked bytes under limits; raises ImportRefused on the way."""
        return BoundedReader(open_input(self.path), self.encoding, self.limits)

    def open(self) -> BinaryIO:
        """The unpacked bytes as a buffered stream; raises ImportRefused on the way."""
        return cast(BinaryIO, io.BufferedReader(_Unpacked(self.reader()), 1 << 16))

    def read(self, limit: int) -> bytes:
        """At most `limit` unpacked bytes."""
        with self.open() as stream:
            return stream.read(limit)

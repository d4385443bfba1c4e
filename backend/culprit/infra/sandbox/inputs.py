"""Input files of a sandboxed process: opened before it gives up its rights, and read through descriptors."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

_descriptors: dict[str, int] = {}


class _DescriptorReader(io.RawIOBase):
    """A file by its descriptor, with its own position, so that several readers do not disturb each other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._position)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position}.get(whence)
        if start is None:
            start = os.fstat(self._descriptor).st_size
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))  # like a file; zipfile relies on it
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position


def open_early(paths: Iterable[str]) -> None:
    """Open `paths` for this process; a missing file raises only when it is read."""
    for path in paths:
        try:
            _descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue


def open_input(path: Path) -> io.BufferedReader:
    """Return an input as a seekable file; outside of a sandbox, and for its own files, open it directly."""
    descriptor = _descriptors.get(str(path))
    if descriptor is None:
        return path.open("rb")
    return cast(io.BufferedReader, io.BufferedReader(_DescriptorReader(descriptor), 1 << 16))

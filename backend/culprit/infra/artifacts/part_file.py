"""A part of an artifact on its way to the disk, from a live run or from a bundle that was carried by hand."""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path


class PartFile:
    """One part as a file. What the host could only send as base64 is stored without it; compression stays.

    `encoding` is what the file has; `intact` is False where the base64 was damaged or cut.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self.path = path
        self.size = 0
        self.intact = True
        self.encoding = encoding.removesuffix("base64").removesuffix("+") or "identity"
        self._is_text = encoding.endswith("base64")
        self._held = b""
        self._digest = hashlib.sha256()
        self._out = path.open("wb")

    def write(self, data: bytes, /) -> object:
        """The next bytes as they were sent."""
        if self._is_text:
            data = self._held + data.translate(None, b"\r\n")
            keep = len(data) % 4
            data, self._held = data[: len(data) - keep], data[len(data) - keep :]
            try:
                data = base64.b64decode(data, validate=True)
            except binascii.Error:
                self.intact, data = False, b""
        self._digest.update(data)
        self._out.write(data)
        self.size += len(data)
        return len(data)

    def close(self) -> str:
        """Ends the file; the digest of what is in it."""
        self.intact = self.intact and not self._held
        self._out.close()
        return self._digest.hexdigest()

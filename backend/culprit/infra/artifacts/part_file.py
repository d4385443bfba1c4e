"""Write one part of an artifact to disk, from a live run or from an imported bundle."""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path


class PartFile:
    """One part as a file. Base64 that the host had to send is decoded; compression stays.

    `encoding` is that of the file. `intact` is False if the base64 was damaged or truncated.
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
        """Write the next bytes as they were sent."""
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
        """Close the file and return the digest of its content."""
        self.intact = self.intact and not self._held
        self._out.close()
        return self._digest.hexdigest()

"""Replace paths and IDs of the recording machine in a bundle: `PYTHONPATH=. python examples/anonymize.py BUNDLE`.

Each is replaced by text of the same length, so that recordings stay readable, and digests are computed again.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import zstandard

from collectors.runner.frames import Frame, FrameReader

# Identifying text in a recording: home directories, checkouts, and the IDs of boots and runs.
PATHS = re.compile(rb"(?<![a-z])/(?:root|work|home|tmp|mnt|data)/[!-'*-~]*")
BOOT = re.compile(rb"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def replace_identifiers(data: bytes) -> bytes:
    """Return text of the same length without paths and boot IDs of the machine."""
    data = PATHS.sub(lambda m: _replace_path(m[0]), data)
    return BOOT.sub(lambda m: b"01234567-89ab-4cde-8f01-23456789abcd", data)


def _replace_path(path: bytes) -> bytes:
    """Return a path of the same length and with the same last part, which names the program or library."""
    name = b"/" + path.rpartition(b"/")[2]
    room = len(path) - len(name) - len(b"/srv")
    return (
        b"/srv" + (b"/build" * len(path))[:room].rstrip(b"/").ljust(room, b"_") + name if room > 0 else path
    )


def rewrite_frame(frame: Frame) -> bytes:
    """Return the frame with replaced identifiers and a new digest."""
    head, body = frame.header, frame.payload
    if head.encoding == "zstd":
        plain = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        body = zstandard.ZstdCompressor(level=19).compress(replace_identifiers(plain))
    elif head.encoding == "identity":
        body = replace_identifiers(body)
    else:
        raise SystemExit(f"cannot open {head.encoding}")
    fields = {
        "kind": head.kind,
        "id": head.id or "-",
        "part": head.part or "-",
        "len": len(body),
        "sha256": hashlib.sha256(body).hexdigest() if head.sha256 else "-",
        "enc": head.encoding,
        "raw": "-" if head.raw is None else head.raw,
        **head.fields,
    }
    line = "CULPRIT1 " + " ".join(f"{name}={value}" for name, value in fields.items())
    return line.encode() + b"\n" + body + b"\n"


def main(path: Path) -> None:
    """Rewrite the bundle in place."""
    reader = FrameReader()
    frames = reader.feed(path.read_bytes())
    error = reader.close()
    if error is not None:
        raise SystemExit(f"incomplete bundle: {error}")
    path.write_bytes(b"".join(map(rewrite_frame, frames)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

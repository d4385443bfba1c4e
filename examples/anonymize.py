"""Takes the paths and ids of the recording machine out of a bundle: `python examples/neutral.py BUNDLE`.

Each is replaced by as many other characters, so that recordings stay readable; digests are made anew. Nothing
else is changed.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import zstandard

from collectors.frames import Frame, FrameReader

# What may stand in a recording of a developer's machine: homes, checkouts, and the ids that boots and runs have.
PATHS = re.compile(rb"(?<![a-z])/(?:root|work|home|tmp|mnt|data)/[!-'*-~]*")
BOOT = re.compile(rb"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def neutral(data: bytes) -> bytes:
    """The same length without what tells of the machine."""
    data = PATHS.sub(lambda m: _renamed(m[0]), data)
    return BOOT.sub(lambda m: b"01234567-89ab-4cde-8f01-23456789abcd", data)


def _renamed(path: bytes) -> bytes:
    """Another path as long as this one, with the same last part, which names the program or library."""
    name = b"/" + path.rpartition(b"/")[2]
    room = len(path) - len(name) - len(b"/srv")
    return (
        b"/srv" + (b"/build" * len(path))[:room].rstrip(b"/").ljust(room, b"_") + name if room > 0 else path
    )


def rewritten(frame: Frame) -> bytes:
    """The frame with neutral contents."""
    head, body = frame.header, frame.payload
    if head.encoding == "zstd":
        plain = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        body = zstandard.ZstdCompressor(level=19).compress(neutral(plain))
    elif head.encoding == "identity":
        body = neutral(body)
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
    """Rewrites the file."""
    reader = FrameReader()
    frames = reader.feed(path.read_bytes())
    trouble = reader.close()
    if trouble is not None:
        raise SystemExit(f"not whole: {trouble}")
    path.write_bytes(b"".join(map(rewritten, frames)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

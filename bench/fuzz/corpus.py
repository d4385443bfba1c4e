"""The stored inputs of the fuzzer: what reaches code that the recorded outputs do not reach.

`corpus/NAME.tar.zst` holds the inputs of a target, `inputs/NAME/` those that once broke its parser.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

import zstandard

CORPUS = Path(__file__).parent / "corpus"
INPUTS = Path(__file__).parent / "inputs"


def name_input(data: bytes) -> str:
    """Return the name of an input: its SHA-1, as libFuzzer names it."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def load_stored_inputs(target: str) -> dict[str, bytes]:
    """Return the stored inputs of a target by name."""
    path = CORPUS / f"{target}.tar.zst"
    if not path.exists():
        return {}
    with (
        path.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
    ):
        return {member.name: _read_member(archive, member) for member in archive}


def load_broken_inputs(target: str) -> dict[str, bytes]:
    """Return the inputs that once broke the parser of a target, by name."""
    return {path.name: path.read_bytes() for path in sorted((INPUTS / target).glob("*"))}


def store_inputs(target: str, inputs: Iterable[bytes]) -> int:
    """Replace the stored inputs of a target, and return their size in the repository in bytes.

    The same inputs give the same file. Without inputs there is no file.
    """
    path = CORPUS / f"{target}.tar.zst"
    named = {name_input(data): data for data in inputs}
    if not named:
        path.unlink(missing_ok=True)
        return 0
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(named.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    packed = zstandard.ZstdCompressor(level=19).compress(buffer.getvalue())
    CORPUS.mkdir(exist_ok=True)
    path.write_bytes(packed)
    return len(packed)


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file is not None else b""

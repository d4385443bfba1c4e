"""Base64 is decoded before storing, with every compression and every split of the bytes."""

from __future__ import annotations

import base64
import hashlib

import pytest
from culprit.infra.artifacts.part_file import PartFile

DATA = bytes(range(256)) * 5 + b"end"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("identity", "identity"),
        ("gzip", "gzip"),
        ("zstd", "zstd"),
        ("base64", "identity"),
        ("gzip+base64", "gzip"),
        ("zstd+base64", "zstd"),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 4096])
def test_stored_as_it_was_packed(tmp_path, sent: str, stored: str, step: int) -> None:
    wire = base64.encodebytes(DATA) if sent.endswith("base64") else DATA
    part = PartFile(tmp_path / "part", sent)
    for start in range(0, len(wire), step):
        part.write(wire[start : start + step])
    assert part.close() == hashlib.sha256(DATA).hexdigest()
    assert (tmp_path / "part").read_bytes() == DATA
    assert (part.encoding, part.size, part.intact) == (stored, len(DATA), True)


@pytest.mark.parametrize("wire", [b"QUJD*UJD", b"QUJDQQ"])
def test_part_file_detects_damage_and_truncation(tmp_path, wire: bytes) -> None:
    part = PartFile(tmp_path / "part", "gzip+base64")
    part.write(wire)
    part.close()
    assert not part.intact

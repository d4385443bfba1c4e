"""One file format for derived columns: a short JSON header, then flat little-endian arrays that can be
mapped.

Layout, version 1:

    0   8 bytes   magic  b"CULPCOL1"
    8   u32       length of the header in bytes (little-endian, as everything)
    12  u32       CRC-32 of the header
    16  header    JSON: {"kind", "version", "meta": {...}, "arrays": [[name, dtype, count, offset, crc32],
    ...]} ..  arrays    each at a multiple of 64 bytes, in the order of the header

A file is written once, under another name, and renamed; it is never changed. It may be damaged or hostile
when it is read: every offset is checked against the size of the file, every array against its CRC-32.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from collectors.contract import Sentence

MAGIC = b"CULPCOL1"
ALIGN = 64
HEADER_MAX = 1 << 20
DTYPES = frozenset({"|u1", "<u2", "<i2", "<i4", "<u4", "<i8", "<f4", "<f8"})

Array = npt.NDArray[Any]


class DamagedFileError(Exception):
    """A stored file is not what was written. It is derived data: build it again from the artifact."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.sentence = Sentence("profile.damaged", {"why": why})


@dataclass(frozen=True, slots=True)
class ColumnData:
    """An opened file: what it is, its metadata, and its arrays (read-only views of the mapping)."""

    kind: str
    version: int
    meta: Mapping[str, Any]
    arrays: Mapping[str, Array]


def write_columns(
    path: Path, kind: str, version: int, meta: Mapping[str, Any], arrays: Mapping[str, Array]
) -> int:
    """Write a file atomically (temporary name, fsync, rename). Returns its size in bytes."""
    plain = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    header = _read_header(kind, version, meta, plain)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as out:
            out.write(MAGIC + len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little"))
            out.write(header)
            for array in plain.values():
                out.write(b"\0" * (-out.tell() % ALIGN))
                out.write(array.data)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return size


def _read_header(kind: str, version: int, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The header for these arrays. Its length decides the offsets, so their digits are padded to a fixed
    width.
    """
    rows = [[n, a.dtype.str, int(a.size), 0, zlib.crc32(a.data)] for n, a in arrays.items()]
    text = {"kind": kind, "version": version, "meta": dict(meta), "arrays": rows}
    room = len(json.dumps(text).encode()) + 20 * len(rows)
    offset = len(MAGIC) + 8 + room
    for row, array in zip(rows, arrays.values(), strict=True):
        offset += -offset % ALIGN
        row[3] = offset
        offset += array.nbytes
    return json.dumps(text).encode().ljust(room)


def read_columns(path: Path, kind: str, version: int, *, verify: bool = True) -> ColumnData:
    """Map a file. Raises DamagedFile where anything in it is not as it was written, FileNotFoundError where
    absent.

    `verify` False skips the checksums of the arrays (one pass over the file), never the bounds.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 16:
            raise DamagedFileError("shorter than a header")
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if view[:8] != MAGIC:
        raise DamagedFileError("wrong magic")
    end = 16 + int.from_bytes(view[8:12], "little")
    if end > min(size, HEADER_MAX + 16) or zlib.crc32(view[16:end]) != int.from_bytes(view[12:16], "little"):
        raise DamagedFileError("damaged header")
    header = json.loads(bytes(view[16:end]))
    if header["kind"] != kind or header["version"] != version:
        raise DamagedFileError(
            f"is {header['kind']} version {header['version']}, not {kind} version {version}"
        )
    arrays = {row[0]: _read_array(view, row, end, size, verify) for row in header["arrays"]}
    return ColumnData(kind, version, header["meta"], arrays)


def _read_array(view: memoryview, row: list[Any], start: int, size: int, verify: bool) -> Array:
    name, dtype, count, offset, crc = row
    if dtype not in DTYPES:
        raise DamagedFileError(f"column {name}: unknown type")
    length = count * np.dtype(dtype).itemsize
    if count < 0 or offset < start or offset + length > size:
        raise DamagedFileError(f"column {name}: outside of the file")
    if verify and zlib.crc32(view[offset : offset + length]) != crc:
        raise DamagedFileError(f"column {name}: checksum")
    return np.frombuffer(view, dtype, count, offset)

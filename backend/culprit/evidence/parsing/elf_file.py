"""Read the sections of an ELF file: its build ID, and the blocks with its symbol table.

The reader of profiles needs only these of a file with debugging symbols. They are stored as those of files of a host
are, see `collectors.runner.symbols`. Sources: the ELF specification, and elf(5).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from collectors.runner.symbols import BLOCK

MAX_SECTIONS = 2000
MAX_NOTES = 64 << 10
MIN_BUILD_ID, MAX_BUILD_ID = 4, 20
_SYMTAB, _NOTE, _NOBITS = 2, 7, 8
_COMPRESSED = 0x800
_BUILD_ID_NOTE = 3
#: Of 64-bit and 32-bit files: place of the section headers, sizes and numbers of headers; a section header; a symbol.
_HEADERS = {2: ("<32xQQ6x5H", "<IIQQQQIIQQ", 24), 1: ("<28xII6x5H", "<IIIIIIIIII", 16)}


class ElfFileError(Exception):
    """The file is no ELF file, or damaged."""


@dataclass(frozen=True, slots=True)
class ElfSection:
    """A section: its type and flags, its place in the file in bytes, and the section that it refers to."""

    type: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class ElfFile:
    """The sections of a file, its build ID in hexadecimal or "", and the places of its headers in bytes.

    `symbol_bytes` is the size of an entry of its symbol table.
    """

    sections: tuple[ElfSection, ...]
    build_id: str
    headers: tuple[tuple[int, int], ...]
    symbol_bytes: int

    def list_symbol_tables(self) -> list[ElfSection]:
        """Return the symbol tables that have symbols; the first entry of each table is none."""
        return [
            section
            for section in self.sections
            if section.type == _SYMTAB
            and section.size > self.symbol_bytes
            and not section.flags & _COMPRESSED
            and section.link < len(self.sections)
        ]


def read_elf_file(file: BinaryIO) -> ElfFile:
    """Read the headers of a little-endian ELF file. Raises ElfFileError."""
    size = file.seek(0, os.SEEK_END)
    head = _read(file, 0, min(64, size))
    if len(head) < 52 or head[:4] != b"\x7fELF" or head[4] not in _HEADERS or head[5] != 1:
        raise ElfFileError("not a little-endian ELF file")
    file_header, section_header, symbol_bytes = _HEADERS[head[4]]
    if len(head) < struct.calcsize(file_header):
        raise ElfFileError("the file header is cut")
    segments_at, sections_at, *counts = struct.unpack_from(file_header, head)
    segment_bytes, segment_count, entry, count, names = counts
    if entry != struct.calcsize(section_header) or not 1 < count <= MAX_SECTIONS or not names < count:
        raise ElfFileError("the section headers cannot be read")
    table = _read(file, sections_at, entry * count)
    rows = list(struct.iter_unpack(section_header, table))
    sections = tuple(ElfSection(row[1], row[2], row[4], row[5], row[6]) for row in rows)
    headers = (
        (0, min(BLOCK, size)),
        (segments_at, segment_bytes * segment_count),
        (sections_at, entry * count),
    )
    named = sections[names]
    return ElfFile(
        sections, _read_build_id(file, sections), (*headers, (named.offset, named.size)), symbol_bytes
    )


def list_symbol_blocks(elf: ElfFile, size: int) -> list[tuple[int, int]]:
    """Return the blocks with headers, notes and symbol tables as (first, count), in the order of the file.

    `size` is the size of the file in bytes. Raises ElfFileError if they are not all in the file.
    """
    tables = elf.list_symbol_tables()
    sections = [*tables, *(elf.sections[table.link] for table in tables)]
    sections += [section for section in elf.sections if section.type == _NOTE]
    places = [
        *elf.headers,
        *((section.offset, section.size) for section in sections if section.type != _NOBITS),
    ]
    if any(offset + length > size for offset, length in places):
        raise ElfFileError("a section is not in the file")
    return _merge_blocks(places)


def read_blocks(file: BinaryIO, blocks: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield these blocks of a file. What is after its end is zeros."""
    for first, count in blocks:
        for number in range(first, first + count):
            file.seek(number * BLOCK)
            yield file.read(BLOCK).ljust(BLOCK, b"\0")


def _merge_blocks(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for offset, length in sorted(place for place in places if place[1] > 0):
        first, end = offset // BLOCK, (offset + length + BLOCK - 1) // BLOCK
        if merged and first <= sum(merged[-1]):
            start, count = merged[-1]
            merged[-1] = (start, max(start + count, end) - start)
        else:
            merged.append((first, end - first))
    return merged


def _read(file: BinaryIO, offset: int, length: int) -> bytes:
    if offset >= 1 << 62:
        raise ElfFileError("a header is not in the file")
    file.seek(offset)
    data = file.read(length)
    if len(data) < length:
        raise ElfFileError("a header is not in the file")
    return data


def _read_build_id(file: BinaryIO, sections: Iterable[ElfSection]) -> str:
    for section in sections:
        if section.type != _NOTE or section.size > MAX_NOTES:
            continue
        try:
            notes = _read(file, section.offset, section.size)
        except ElfFileError:
            continue
        for kind, name, value in _iterate_notes(notes):
            if kind == _BUILD_ID_NOTE and name == b"GNU\0" and MIN_BUILD_ID <= len(value) <= MAX_BUILD_ID:
                return value.hex()
    return ""


def _iterate_notes(notes: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the type, name and value of each note. Names and values are aligned to 4 bytes."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        value_at = at + 12 + (name_size + 3) // 4 * 4
        if value_at + size > len(notes):
            return
        yield kind, notes[at + 12 : at + 12 + name_size], notes[value_at : value_at + size]
        at = value_at + (size + 3) // 4 * 4

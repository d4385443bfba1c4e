"""Sections of ELF files: those of compilers and of objcopy, and damaged ones."""

from __future__ import annotations

import io
import random
import struct
import subprocess

import pytest
from culprit.evidence.parsing.elf_file import (
    ElfFileError,
    list_symbol_blocks,
    read_blocks,
    read_elf_file,
)
from culprit.tests.support.debuginfod import build_program

from collectors.runner.symbols import BLOCK


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_program(tmp_path_factory.mktemp("program"))


def test_programs_and_debugging_files_have_the_same_build_id(program):
    for path, has_symbols in ((program.path, False), (program.debug, True), (program.whole, True)):
        with path.open("rb") as file:
            elf = read_elf_file(file)
        assert elf.build_id == program.build_id
        assert bool(elf.list_symbol_tables()) == has_symbols


def test_the_kept_blocks_are_enough_for_another_reader(program, tmp_path):
    size = program.debug.stat().st_size
    kept = tmp_path / "kept"
    with program.debug.open("rb") as file, kept.open("wb") as out:
        blocks = list_symbol_blocks(read_elf_file(file), size)
        for (first, count), data in zip(
            blocks, (b"".join(read_blocks(file, [item])) for item in blocks), strict=True
        ):
            assert len(data) == count * BLOCK
            out.seek(first * BLOCK)
            out.write(data)
        out.truncate(size)

    def list_symbols(path):
        return subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout

    assert list_symbols(kept) == list_symbols(program.debug)
    assert "count_busily" in list_symbols(kept)
    assert sum(count for _, count in blocks) * BLOCK < size


def test_a_build_id_is_read_behind_other_notes():
    other = struct.pack("<III", 4, 5, 1) + b"GNU\0" + b"12345\0\0\0"
    build_id = struct.pack("<III", 4, 8, 3) + b"GNU\0" + bytes(range(8))
    notes = other + build_id
    names = b"\0"
    at = 64 + len(notes)
    sections_at = at + len(names)
    header = struct.pack("<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 1, 62, 1, 0, 0, sections_at, 0,
                         64, 56, 0, 64, 3, 2)  # fmt: skip
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 64, len(notes), 0, 0, 4, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at, len(names), 0, 0, 1, 0)
    elf = read_elf_file(io.BytesIO(header + notes + names + sections))
    assert elf.build_id == bytes(range(8)).hex()
    assert elf.list_symbol_tables() == []


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"\x7fELF\x02\x02" + bytes(90), b"MZ" + bytes(90), bytes(200)]
)
def test_what_is_no_elf_file_is_refused(data):
    with pytest.raises(ElfFileError):
        read_elf_file(io.BytesIO(data))


def test_damaged_files_are_read_or_refused_within_their_size(program):
    whole = program.debug.read_bytes()
    chance = random.Random(7)
    outcomes = set()
    for _ in range(2000):
        data = bytearray(whole[: chance.randrange(len(whole)) if chance.random() < 0.3 else len(whole)])
        sections_at = struct.unpack_from("<Q", whole, 40)[0]
        for _ in range(chance.randrange(1, 6)):
            place = chance.choice(
                [chance.randrange(64), sections_at + chance.randrange(len(whole) - sections_at)]
            )
            if place < len(data):
                data[place] = chance.choice([0, 1, 0x7F, 0xFF, chance.randrange(256)])
        file = io.BytesIO(bytes(data))
        try:
            blocks = list_symbol_blocks(read_elf_file(file), len(data))
        except ElfFileError:
            outcomes.add("refused")
            continue
        outcomes.add("read")
        assert sum(count for _, count in blocks) * BLOCK <= len(data) + BLOCK
        assert len(b"".join(read_blocks(file, blocks))) == sum(count for _, count in blocks) * BLOCK
    assert outcomes == {"read", "refused"}

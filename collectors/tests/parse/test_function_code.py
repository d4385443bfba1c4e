"""One function in detail: samples by address as perf counts them, and instructions and lines as binutils print them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from collectors.parse.perf import perf_data
from collectors.parse.perf.perf_data import FunctionQuery, ProgramFile, SymbolFiles

pytestmark = [
    pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not built"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("gcc", "perf", "objdump", "addr2line"))),
        reason="gcc, perf or binutils is not installed",
    ),
]

C = """
#include <stdlib.h>
#include <string.h>
static inline unsigned mix(unsigned x) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
__attribute__((noinline)) double spread(double *v, unsigned n) {
    double t = 0; for (unsigned i = 0; i < n; i++) { v[i] = v[i] * 0.5 + i; t += v[i] / (i + 1); }
    return t; }
__attribute__((noinline)) unsigned step(unsigned x) { return x * 2654435761u >> 3; }
__attribute__((noinline)) unsigned leaf(unsigned n) {
    unsigned s = n | 1;
    for (unsigned i = 0; i < 20000; i++) { s = mix(s); if (s % 7 == 3) s += abs((int)s) % 11; if (i % 256 == 0) s += step(s) + (unsigned)rand(); }
    return s; }
int main(void) {
    static double v[512]; unsigned t = 0; char text[64];
    for (unsigned i = 0; i < 9000; i++) { t += leaf(i); t += spread(v, 512); memset(text, (int)t, 64); t += text[i % 64]; }
    return t == 7; }
"""
_LINE = re.compile(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)(?:\s*\t(.*))?")


def record(folder: Path, *flags: str) -> tuple[Path, Path]:
    """Build the program, and return it with a recording of it."""
    code, program, data = folder / "program.c", folder / "program", folder / "perf.data"
    code.write_text(C)
    subprocess.run(["gcc", "-O2", "-Wl,--build-id", *flags, "-o", program, code], check=True)
    command = [
        "perf",
        "record",
        "-q",
        "-e",
        "cpu-clock",
        "-F",
        "1999",
        "-g",
        "--buildid-all",
        "-o",
        data,
        "--",
        program,
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    if not data.exists():
        pytest.skip(f"perf cannot record this here: {done.stderr[-200:]!r}")
    return program, data


def count_by_perf(data: Path, function: str) -> Counter[int]:
    """Return the samples of a function by offset from its begin, as `perf script` prints their addresses."""
    command = ["perf", "--no-pager", "script", "--no-inline", "-i", str(data), "-F", "ip,sym,symoff", "-G"]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    matches = re.findall(rf"^\s*[0-9a-f]+ {re.escape(function)}\+0x([0-9a-f]+)\s*$", text, re.MULTILINE)
    return Counter(int(offset, 16) for offset in matches)


def list_by_objdump(program: Path, function: str) -> list[tuple[int, int, str]]:
    """Return address, length and text of each instruction of a function."""
    command = ["objdump", "-d", "--wide", f"--disassemble={function}", str(program)]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    instructions: list[tuple[int, int, str]] = []
    for match in filter(None, map(_LINE.fullmatch, text.splitlines())):
        instructions.append((int(match[1], 16), len(match[2].split()), match[3] or ""))
    return instructions


def get_mnemonic(text: str) -> str:
    """Return the mnemonic of an instruction without prefixes, and without the size of its operands."""
    words = [word for word in text.split() if word not in {"cs", "data16", "repz", "bnd", "notrack"}]
    return words[0].rstrip("lbwq")


def read_all(program: Path, data: Path, function: str) -> tuple[perf_data.FunctionSamples, dict[str, object]]:
    query = FunctionQuery("cpu-clock", function, str(program))
    samples, [first, *others] = perf_data.count_function(data, query, SymbolFiles(root=Path("/")))
    assert samples >= first.samples > 0 and not others and first.key is not None
    file = ProgramFile(root=Path("/"), module=first.module, key=first.key)
    code = perf_data.read_function(file, first.start, first.end)
    assert code is not None
    return first, dict(code)


@pytest.mark.parametrize("flags", [("-g",), ("-g", "-gdwarf-4"), ("-g", "-gz"), ("-g", "-no-pie"), ()])
def test_counts_instructions_and_lines_are_those_of_perf_and_binutils(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    program, data = record(tmp_path, *flags)
    hottest = 0
    for function in ("leaf", "spread", "main"):
        expected = count_by_perf(data, function)
        if not expected:
            continue
        first, code = read_all(program, data, function)
        assert {at - first.start: count for at, count in first.counts} == expected
        hottest = max(hottest, first.samples)
        listed = list_by_objdump(program, function)
        instructions = code["instructions"]
        assert isinstance(instructions, list)
        own = [(code["address"] + item[0], item[1]) for item in instructions]
        assert own[: len(listed)] == [item[:2] for item in listed] and len(listed) > 3
        # objdump leaves the padding behind a function out; the symbol does not contain it either.
        assert len(own) == len(listed)
        pairs = {
            (get_mnemonic(item[2]), get_mnemonic(theirs[2]))
            for item, theirs in zip(instructions, listed, strict=True)
        }
        assert not {pair for pair in pairs if pair[0] != pair[1]}
        check_lines(program, code, has_lines="-g" in flags)
    assert hottest > 100


def check_lines(program: Path, code: dict[str, object], *, has_lines: bool) -> None:
    files, instructions = code["files"], code["instructions"]
    assert isinstance(files, list) and isinstance(instructions, list) and isinstance(code["address"], int)
    if not has_lines:
        assert not files and {item[5] for item in instructions} == {-1}
        return
    addresses = [hex(code["address"] + item[0]) for item in instructions]
    command = ["addr2line", "-e", str(program), *addresses]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    expected = [line.split(" (")[0].rpartition(":") for line in lines]
    for (path, _, line), item in zip(expected, instructions, strict=True):
        assert Path(files[item[5]]).name == Path(path).name and str(item[6]) == line


def test_counts_equal_perf_annotate(tmp_path: Path) -> None:
    program, data = record(tmp_path, "-g")
    first, code = read_all(program, data, "leaf")
    command = [
        "perf",
        "--no-pager",
        "annotate",
        "--stdio",
        "--no-source",
        "--show-nr-samples",
        "-i",
        str(data),
        "-s",
        "leaf",
    ]
    text = subprocess.run(command, capture_output=True, check=False, text=True).stdout
    lines = re.findall(r"^\s*(\d+)\s*:\s+([0-9a-f]+):", text, re.MULTILINE)
    if not lines:
        pytest.skip("perf annotate prints nothing here")
    expected = {int(address, 16): int(count) for count, address in lines if int(count)}
    address = code["address"]
    assert isinstance(address, int)
    assert {at - first.start + address: count for at, count in first.counts} == expected


def test_a_branch_to_another_function_names_it(tmp_path: Path) -> None:
    program, data = record(tmp_path)
    _, code = read_all(program, data, "leaf")
    instructions = code["instructions"]
    assert isinstance(instructions, list)
    assert {item[4] for item in instructions} == {None, "step", "rand@plt"}


def test_another_name_module_or_build_has_none(tmp_path: Path) -> None:
    program, data = record(tmp_path)
    first, _ = read_all(program, data, "leaf")
    for query in (FunctionQuery("cpu-clock", "missing"), FunctionQuery("cpu-clock", "leaf", "/other")):
        assert perf_data.count_function(data, query, SymbolFiles(root=Path("/")))[1] == []
    other = ProgramFile(root=Path("/"), module=str(program), key="00" * 20)
    assert perf_data.read_function(other, first.start, first.end) is None
    assert perf_data.read_function(ProgramFile(program), 1 << 40, (1 << 40) + 9) is None
    assert perf_data.read_function(ProgramFile(tmp_path / "program.c"), 0, 9) is None
    assert perf_data.list_file_parts(tmp_path / "program.c") is None


def test_the_sections_of_lines_are_where_readelf_has_them(tmp_path: Path) -> None:
    program, _ = record(tmp_path, "-g")
    parts = perf_data.list_file_parts(program)
    assert parts is not None and parts[1]
    command = ["readelf", "-W", "-S", str(program)]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    matches = re.findall(r"\] (\.debug_\w+) +PROGBITS +\S+ ([0-9a-f]+) ([0-9a-f]+)", text)
    expected = {name: (int(offset, 16), int(size, 16)) for name, offset, size in matches}
    assert parts[2].items() <= expected.items() and {".debug_line", ".debug_line_str"} <= parts[2].keys()

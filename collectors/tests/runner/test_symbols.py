"""The script that fetches symbols, on this machine: what it sends, and what it refuses."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.parse.perf import perf_data
from collectors.runner import symbols
from collectors.tests.symbol_fetch import fetch, rebuild, rows

SHELLS = [item for item in ("dash", "bash", "busybox ash") if shutil.which(item.split()[0])]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="map_files needs root")
needs_reader = pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not installed")


@needs_root
@needs_reader
@pytest.mark.parametrize("shell", SHELLS)
def test_blocks_name_the_same_functions_as_the_whole_file(shell: str, tmp_path: Path) -> None:
    recording = tmp_path / "perf.data"
    command = [
        "perf",
        "record",
        "-q",
        "-F",
        "999",
        "-g",
        "-B",
        "-o",
        str(recording),
        "--",
        sys.executable,
        "-c",
        "import zlib; [zlib.compress(bytes(range(256)) * 4000) for _ in range(60)];"
        "sum(len(str(number)) for number in range(1_500_000))",
    ]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("perf cannot record here")
    used = [
        item
        for item in perf_data.list_modules(recording.read_bytes()).modules
        if item.key and item.path.startswith("/")
    ]
    whole, sparse = tmp_path / "whole", tmp_path / "sparse"
    whole.mkdir()
    sparse.mkdir()
    # The program has ended, as short ones do: its files are read by their paths, if they are the same inodes.
    requests = []
    for item in used:
        (whole / item.key).symlink_to(item.path)
        stat = Path(item.path).stat()
        requests.append(
            symbols.FileRequest(item.key, item.places, f"{stat.st_dev:x}-{stat.st_ino}", item.path)
        )
    parts = fetch(tmp_path, requests, shell=shell)
    fetched = rows(parts)
    assert {item.key for item in used} <= set(fetched) and len(used) >= 2
    for key in set(fetched) - {item.key for item in used}:
        build_id = str(fetched[key][1])
        debug = Path(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
        assert key.endswith("-debug") and debug.is_file()
        (whole / key).symlink_to(debug)
    for key, (state, build_id, blocks, part) in fetched.items():
        assert state == "file" and len(str(build_id)) == 40
        rebuild(str(blocks), parts[str(part)], sparse / key)
    assert sum(map(len, parts.values())) < sum(Path(item.path).stat().st_size for item in used)
    ours, expected = (
        perf_data.read_samples(recording, perf_data.SymbolFiles(store=store)) for store in (sparse, whole)
    )
    assert ours.frames.strings.all() == expected.frames.strings.all()
    assert any(name.startswith(("Py", "_Py")) for name in expected.frames.strings.all())


@needs_root
def test_a_mapped_file_is_read_even_if_it_was_deleted(tmp_path: Path) -> None:
    copy = tmp_path / "sleep"
    shutil.copy(shutil.which("sleep") or "", copy)
    with subprocess.Popen([copy, "30"]) as child:
        try:
            while not (places := [
                (child.pid, *(int(end, 16) for end in line.split()[0].split("-")))
                for line in Path(f"/proc/{child.pid}/maps").read_text().splitlines()
                if "r-xp" in line and line.endswith(str(copy))
            ]):  # fmt: skip
                pass
            copy.unlink()
            parts = fetch(tmp_path, [symbols.FileRequest("inode-1-2-3-0", places)])
        finally:
            child.kill()
    assert rows(parts)["inode-1-2-3-0"][0] == "file"


def write_elf(path: Path, **fields: int) -> Path:
    """Write the header of a 64-bit ELF file with these fields, and nothing else."""
    values = {"kind": 2, "phoff": 64, "shoff": 0, "phnum": 0, "shsize": 64, "shnum": 0, "shstr": 0, **fields}
    header = b"\x7fELF" + bytes([values["kind"], 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, values["phoff"], values["shoff"], 0, 64, 56,
                          values["phnum"], values["shsize"], values["shnum"], values["shstr"])  # fmt: skip
    path.write_bytes(header)
    return path


def request_of(path: Path, key: str = "inode-0-0-1-0") -> symbols.FileRequest:
    stat = path.stat()
    return symbols.FileRequest(key, [(1 << 22, 0, 4096)], f"{stat.st_dev:x}-{stat.st_ino}", str(path))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": 3}, "not_elf"),
        ({"kind": 1}, "no_sections"),
        ({}, "no_sections"),
        ({"shoff": 64, "shnum": 9, "shsize": 40}, "no_sections"),
        ({"shoff": 1 << 60, "shnum": 9}, "not_elf"),
        ({"shoff": 1 << 62 | 1, "shnum": 9}, "not_elf"),
        ({"phnum": 65535}, "no_sections"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shell", SHELLS)
def test_a_file_with_impossible_headers_is_refused(
    shell: str, fields: dict[str, int], reason: str, tmp_path: Path
) -> None:
    parts = fetch(tmp_path, [request_of(write_elf(tmp_path / "file", **fields))], shell=shell)
    assert rows(parts)["inode-0-0-1-0"][0] == reason


def write_go_program(path: Path, *, table: bytes, claimed: int | None = None, names: int = 2) -> Path:
    """Write a file whose only sections are `.gopclntab`, which claims a size, and the names of sections."""
    text = b"\0.gopclntab\0.shstrtab\0"
    start = 4096
    headers = start + len(table) + len(text)
    write_elf(path, shoff=headers, shnum=3, shstr=names)
    size = len(table) if claimed is None else claimed
    with path.open("r+b") as out:
        out.seek(start)
        out.write(table + text + bytes(64))
        out.write(struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, start, size, 0, 0, 8, 0))
        out.write(struct.pack("<IIQQQQIIQQ", 12, 3, 0, 0, start + len(table), len(text), 0, 0, 1, 0))
    return path


def build_go_table(names: int, functions: int, magic: int = 0xFFFFFFF1) -> bytes:
    """Build a header as of Go 1.20 that states where names end and where functions begin, and 64 KiB."""
    header = struct.pack("<IBBBBQQQQQQQQ", magic, 0, 0, 1, 8, 9, 0, 0, 72, names, 0, 0, functions)
    return header.ljust(64 << 10, b"\1")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("table", "is_partial"),
    [
        (build_go_table(8192, 40_960), True),
        (build_go_table(8192, 40_960, magic=0xFFFFFFFB), False),
        (build_go_table(0, 40_960), False),
        (build_go_table(40_960, 8192), False),
        (build_go_table(8192, 1 << 63), False),
        (build_go_table(8192, 65_536), False),
        (b"\0" * (64 << 10), False),
    ],
)
def test_of_the_table_of_a_go_program_only_names_and_addresses_are_sent(
    shell: str, table: bytes, is_partial: bool, tmp_path: Path
) -> None:
    """The whole table is sent if its header does not state where its parts are."""
    parts = fetch(tmp_path, [request_of(write_go_program(tmp_path / "file", table=table))], shell=shell)
    state, _, blocks, _ = rows(parts)["inode-0-0-1-0"]
    assert state == "file"
    runs = [tuple(map(int, run.split("+"))) for run in str(blocks).split()]
    sent = {block for first, count in runs for block in range(first, first + count)}
    # The table is in blocks 1 to 16: names up to 2, functions from 11 on.
    assert sent == ({0, 1, 2, *range(11, 18)} if is_partial else set(range(18)))


@pytest.mark.parametrize(
    ("options", "state"),
    [({"claimed": 1 << 40}, "too_large"), ({"claimed": 1 << 63}, "too_large"), ({"names": 0}, "file"), ({"names": 7}, "file")],
)  # fmt: skip
def test_a_go_program_that_claims_what_it_does_not_have_does_no_harm(
    options: dict[str, int], state: str, tmp_path: Path
) -> None:
    program = write_go_program(tmp_path / "file", table=bytes(4096), **options)
    parts = fetch(tmp_path, [request_of(program)])
    assert rows(parts)["inode-0-0-1-0"][0] == state


def test_a_table_that_is_too_large_is_not_sent(tmp_path: Path) -> None:
    file = write_elf(tmp_path / "file", shoff=64, shnum=2)
    with file.open("ab") as out:
        out.write(bytes(64))
        out.write(struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, 4096, 1 << 40, 0, 0, 8, 24))
    parts = fetch(tmp_path, [request_of(file)])
    assert rows(parts)["inode-0-0-1-0"][0] == "too_large"
    assert set(parts) == {"index"}


def test_what_is_no_program_any_more_is_gone(tmp_path: Path) -> None:
    """A pipe, a link to another file, and another file at the same path are not read."""
    pipe, link, other = tmp_path / "pipe", tmp_path / "link", tmp_path / "other"
    os.mkfifo(pipe)
    link.symlink_to("/etc/shadow")
    other.write_text("secret")
    requests = [
        symbols.FileRequest(f"inode-0-0-{number}-0", [], "fd01-1", str(path))
        for number, path in enumerate((pipe, link, other, tmp_path / "absent"))
    ]
    parts = fetch(tmp_path, requests)
    assert {row[0] for row in rows(parts).values()} == {"gone"}
    assert set(parts) == {"index"}


@needs_root
@pytest.mark.parametrize("shell", SHELLS)
def test_a_map_is_read_only_if_it_is_a_file_of_the_process(shell: str, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "30"]) as mapped, subprocess.Popen(["sleep", "30"]) as linked:
        good, bad = Path(f"/tmp/perf-{mapped.pid}.map"), Path(f"/tmp/perf-{linked.pid}.map")
        try:
            good.write_text("7f00 10 countBusily\n")
            bad.symlink_to("/etc/passwd")
            parts = fetch(tmp_path, [], (mapped.pid, linked.pid), shell=shell)
        finally:
            good.unlink(missing_ok=True)
            bad.unlink(missing_ok=True)
            mapped.kill()
            linked.kill()
    assert parts[symbols.name_map_part(mapped.pid)] == b"7f00 10 countBusily\n"
    assert rows(parts)[f"map-{linked.pid}"][0] == "gone"


def test_paths_that_a_shell_could_misread_are_not_sent() -> None:
    hostile = symbols.FileRequest("inode-0-0-1-0", [(1, 0, 1)], "fd01-1", "/tmp/$(reboot) x")
    assert "reboot" not in str(symbols.build_job([hostile], ()).options)
    with pytest.raises(ValueError, match="plain names"):
        symbols.build_job([symbols.FileRequest("../x", [], "", "")], ())


@given(st.lists(st.sampled_from(["file a ab", "file a -", "blocks a 0 1", "blocks a 7 999999", "map m", "failed b gone"])
                | st.text(alphabet="fileblocks 0123456789abc-_\n", max_size=40)))  # fmt: skip
def test_any_index_yields_rows_of_the_same_shape(lines: list[str]) -> None:
    parts = {"index": "\n".join(lines).encode(), "a.blocks": bytes(4096), "m.map": b"x"}
    for key, row in rows(parts).items():
        assert key and len(row) == 4
        if row[0] == "file":
            assert row[2] == "0+1" and row[3] == "a.blocks"

"""Parts of a fetch become the files that the native reader looks up."""

from __future__ import annotations

import hashlib
from pathlib import Path

from culprit.evidence.parsing.symbol_parts import unpack_symbols
from culprit.evidence.symbols.requests import list_keys

from collectors.runner.symbols import BLOCK


def describe_parts(folder: Path, parts: dict[str, bytes]) -> dict[str, dict[str, object]]:
    """Store parts below a folder, and describe them as a child gets them."""
    described: dict[str, dict[str, object]] = {}
    for name, data in parts.items():
        path = folder / hashlib.sha256(data).hexdigest()
        path.write_bytes(data)
        described[name] = {"sha256": path.name, "size": len(data), "path": str(path), "encoding": "identity"}
    return described


def test_files_maps_and_dumps_have_the_names_of_the_reader(tmp_path, monkeypatch):
    stored, work = tmp_path / "stored", tmp_path / "work"
    stored.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    parts = {
        "index": b"file inode-1 -\nblocks inode-1 0 1\nblocks inode-1 2 1\nfile inode-1-debug ab\nmap dump-7\n",
        "known": b"blocks inode-2-debug 1 1\n",
        "inode-1.blocks": b"a" * BLOCK + b"b" * BLOCK,
        "inode-1-debug.blocks": b"c" * BLOCK,
        "inode-2-debug.blocks": b"d" * BLOCK,
        "map-7.map": b"1000 10 run\n",
        "dump-7.map": b"JiTD",
        "dump-x.map": b"JiTD",
    }
    files = unpack_symbols(describe_parts(stored, parts))
    assert files.store is not None and files.perf_maps is not None
    assert (files.store / "inode-1").read_bytes() == b"a" * BLOCK + bytes(BLOCK) + b"b" * BLOCK
    assert (files.store / "inode-2-debug").read_bytes() == bytes(BLOCK) + b"d" * BLOCK
    assert not (files.store / "inode-1-debug").exists(), "the index has no blocks of it"
    assert sorted(path.name for path in files.perf_maps.iterdir()) == ["jit-7.dump", "perf-7.map"]
    assert (files.perf_maps / "jit-7.dump").read_bytes() == b"JiTD"


def test_a_profile_needs_the_files_with_debugging_symbols_of_its_modules():
    source = {"modules": [{"key": "inode-1"}, {"key": None}], "kernel": "boot 1 2"}
    assert list_keys(source) == ["inode-1", "inode-1-debug", "kernel boot 1 2"]

"""Python functions of a CPython that writes perf trampolines (`-X perf`), on real recordings."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable
from collectors.runner import symbols
from collectors.tests.symbol_fetch import fetch, rebuild, record_process, rows

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="map_files needs root"),
    pytest.mark.skipif(
        not (perf_data.is_available() and shutil.which("perf")),
        reason="perf or the native reader is not installed",
    ),
]

SCRIPT = """
def count_busily(n):
    s = 0
    for i in range(n):
        s += i % 7
    return s

while True:
    count_busily(100000)
"""
FRAME_POINTERS = "-fno-omit-frame-pointer"
INTERPRETER = "_PyEval_EvalFrameDefault"


def find_python(flag: str = "") -> str:
    """Return a CPython that writes trampolines (3.12 or newer) and was built with a flag, or skip."""
    names = [f"python3.{minor}" for minor in range(12, 20)]
    paths = [path for path in map(shutil.which, names) if path]
    paths += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3")))
    ask = "import sys, sysconfig; print(sys.is_stack_trampoline_active(), sysconfig.get_config_var('CFLAGS'))"
    for path in paths:
        command = [path, "-X", "perf", "-c", ask]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None
            answer = child.stdout.read().decode()
        Path(f"/tmp/perf-{child.pid}.map").unlink(missing_ok=True)
        if answer.startswith("True") and flag in answer:
            return path
    pytest.skip(f"no CPython 3.12 or newer is installed {flag and 'that was built with ' + flag}")


def record_and_fetch(
    python: str, script: Path, folder: Path, stacks: tuple[str, ...]
) -> tuple[int, dict[str, bytes]]:
    """Record a script, and fetch symbols while it runs. Return its process ID and the parts."""
    child = subprocess.Popen([python, "-X", "perf", script])
    written = Path(f"/tmp/perf-{child.pid}.map")
    deadline = time.monotonic() + 60
    try:
        while not written.exists() or "py::count_busily:" not in written.read_text(errors="replace"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        used = record_process(child, folder / "perf.data", stacks).modules
        requests = [symbols.FileRequest(item.key, item.places) for item in used if item.key]
        return child.pid, fetch(folder, requests, (child.pid,))
    finally:
        child.kill()
        child.wait()
        written.unlink(missing_ok=True)


def count_named(table: SampleTable, function: str) -> int:
    """Count the samples in which the interpreter runs a function: its frames stay, above the function."""
    words, count = table.frames.strings, 0
    for stack in table.stack.tolist():
        names = [words[int(table.frames.name[frame])] for frame in table.trie.path(stack)]
        count += function in names and INTERPRETER in names[names.index(function) :]
    return count


def test_an_interpreter_with_frame_pointers_names_python_functions(tmp_path: Path) -> None:
    """As a capture does it: only what was fetched names functions."""
    python = find_python(FRAME_POINTERS)
    script = tmp_path / "busy.py"
    script.write_text(SCRIPT)
    pid, parts = record_and_fetch(python, script, tmp_path, ("-g", "-B"))
    maps, store = tmp_path / "maps", tmp_path / "store"
    maps.mkdir()
    store.mkdir()
    for key, (state, _, blocks, part) in rows(parts).items():
        if state == "file":
            rebuild(str(blocks), parts[str(part)], store / key)
    (maps / f"perf-{pid}.map").write_bytes(parts[symbols.name_map_part(pid)])
    table = perf_data.read_samples(tmp_path / "perf.data", perf_data.SymbolFiles(store=store, perf_maps=maps))
    assert count_named(table, f"py::count_busily:{script}") > 0.9 * len(table)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="copies of stacks are unwound on x86-64")
def test_copies_of_stacks_name_the_innermost_python_function(tmp_path: Path) -> None:
    """Interpreters of distributions have no frame pointers. Up to the trampoline, their tables lead on."""
    script = tmp_path / "busy.py"
    script.write_text(SCRIPT)
    stacks = ("--call-graph", "dwarf,16384", "--buildid-all")
    pid, parts = record_and_fetch(find_python(), script, tmp_path, stacks)
    maps = tmp_path / "maps"
    maps.mkdir()
    (maps / f"perf-{pid}.map").write_bytes(parts[symbols.name_map_part(pid)])
    table = perf_data.read_samples(
        tmp_path / "perf.data", perf_data.SymbolFiles(root=Path("/"), perf_maps=maps)
    )
    assert count_named(table, f"py::count_busily:{script}") > 0.9 * len(table)

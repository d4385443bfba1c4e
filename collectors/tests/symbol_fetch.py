"""Fetch symbols from this machine as the runner does, and record processes of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from collectors.contract import Script
from collectors.parse.perf import perf_data
from collectors.runner import program, symbols
from collectors.tests.support import BytesPart, context


def fetch(
    folder: Path,
    files: list[symbols.FileRequest],
    maps: tuple[int, ...] = (),
    shell: str = "dash",
    limit: int = 1 << 26,
) -> dict[str, bytes]:
    """Run the script in an empty folder, and return its parts."""
    job = symbols.build_job(files, maps)
    [method] = job.methods
    assert isinstance(method, Script)
    options = {f"OPT_{name.upper()}": value for name, value in job.options.items()}
    where = folder / "fetched"
    where.mkdir()
    subprocess.run(
        [*shell.split(), "-c", program.compact_script(method.sh)],
        cwd=where, env={**os.environ, "BYTES": str(limit), **options}, check=True, timeout=60,
    )  # fmt: skip
    return {path.name: path.read_bytes() for path in where.iterdir() if not path.name.startswith(".")}


def rows(parts: dict[str, bytes]) -> dict[str, tuple[object, ...]]:
    parsed = symbols.parse_symbols({name: BytesPart(data) for name, data in parts.items()}, context())
    return {str(row[0]): row[1:] for table in parsed.tables for row in table.rows}


def rebuild(blocks: str, data: bytes, to: Path) -> Path:
    """Write the blocks of a part at their places."""
    with to.open("wb") as out:
        for run in blocks.split():
            first, count = map(int, run.split("+"))
            out.seek(first * symbols.BLOCK)
            out.write(data[: count * symbols.BLOCK])
            data = data[count * symbols.BLOCK :]
    return to


def record_process(
    child: subprocess.Popen[bytes], to: Path, stacks: tuple[str, ...] = ("-g", "-B")
) -> perf_data.UsedModules:
    """Record a process for a second, and return the modules of the recording."""
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", *stacks, "-k", "CLOCK_MONOTONIC"]
    command += ["-p", str(child.pid), "-o", str(to), "--", "sleep", "1"]
    subprocess.run(command, capture_output=True, check=True)
    return perf_data.list_modules(to.read_bytes())

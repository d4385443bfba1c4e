"""A stripped program with its debugging file, a recording of it, and a debuginfod server that publishes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.tests.support import runs
from culprit.tests.support.web import Answer, Web, reply, web
from sqlalchemy import select

from collectors.runner.symbols import BLOCK
from collectors.tests.symbol_fetch import record_process

FUNCTION = "count_busily"
_SOURCE = """
#include <stdio.h>
volatile unsigned long steps;
__attribute__((noinline)) void count_busily(void) { for (int i = 0; i < 1000000; i++) steps += i; }
int main(void) { for (;;) count_busily(); }
"""
_STATUS = b"kernel 00000000-0000-0000-0000-000000000000 1 1\n"


@dataclass(frozen=True)
class StrippedProgram:
    """A program without symbols, its separate debugging file, the program before both were separated, its build ID."""

    path: Path
    debug: Path
    whole: Path
    build_id: str

    @property
    def request(self) -> str:
        """Return the path that a debuginfod server publishes it below."""
        return f"/buildid/{self.build_id}/debuginfo"


def build_program(folder: Path, name: str = "busy-counter", *options: str) -> StrippedProgram:
    """Compile a busy program, and separate its debugging symbols as distributions do."""
    source, path = folder / f"{name}.c", folder / name
    apart = folder / "apart"  # a debugging file next to its program comes from the host
    apart.mkdir(exist_ok=True)
    debug, whole = apart / f"{name}.debug", apart / name
    source.write_text(_SOURCE)
    flags = ["-g3", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id", *options]
    subprocess.run(["gcc", *flags, "-o", path, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    shutil.copy(path, whole)
    subprocess.run(["strip", path], check=True)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"Build ID: ([0-9a-f]+)", notes)
    assert match is not None
    return StrippedProgram(path, debug, whole, match[1])


@dataclass(frozen=True)
class Recording:
    """perf.data of a program, and the key of the program in it."""

    data: bytes
    key: str


def record_program(program: StrippedProgram, folder: Path) -> Recording:
    """Record the program for a second, as a capture does."""
    with subprocess.Popen([program.path]) as child:
        try:
            used = record_process(child, folder / "perf.data")
        finally:
            child.kill()
    [key] = [module.key for module in used.modules if module.path == str(program.path)]
    assert key is not None
    return Recording((folder / "perf.data").read_bytes(), key)


def add_run(
    db: Database,
    store: ArtifactStore,
    program: StrippedProgram,
    recording: Recording,
    host: str,
    *,
    file: bytes | None = None,
) -> runs.Waiting:
    """Add a run that is not parsed yet, of a host whose copy of the program is stored already, or `file` instead."""
    host_id = runs.make_host(db, host)
    parts = {"perf.data": recording.data, "status.txt": _STATUS}
    run = runs.waiting_run(db, store, {"perf_record": parts}, host_id=host_id)
    add_file(db, store, run, recording.key, program.path.read_bytes() if file is None else file)
    return run


def add_file(db: Database, store: ArtifactStore, run: runs.Waiting, key: str, data: bytes) -> None:
    """Store a file of a host as if it was fetched for this run."""
    count = -(-len(data) // BLOCK)
    blob = store.put([data.ljust(count * BLOCK, b"\0")], 1 << 30)
    with unit_of_work(db.sessions) as session:
        collector = session.scalar(select(RunCollector).where(RunCollector.run_id == run.run_id))
        assert collector is not None
        artifact = Artifact(
            run_id=run.run_id,
            run_collector_id=None,
            part="earlier",
            sha256=blob.sha256,
            size=count * BLOCK,
            stored_size=blob.size,
        )
        session.add(artifact)
        session.flush()
        session.add(SymbolFile(host_id=run.host_id, key=key, artifact_id=artifact.id, blocks=[[0, count]]))


def publish(files: Mapping[str, bytes]) -> Answer:
    """Return the answers of a server that has these files by path, and nothing else."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        data = files.get(handler.path)
        reply(200 if data is not None else 404, data or b"not found")(handler)

    return answer


@contextmanager
def debuginfod(*programs: StrippedProgram) -> Iterator[Web]:
    """Serve the debugging files of programs."""
    with web(publish({program.request: program.debug.read_bytes() for program in programs})) as server:
        yield server

"""perf.data as text, by the server's own perf, inside a confined child only.

perf reads nothing but the file and system libraries: no symbol server, no cache of build-ids, no kernel symbols of
this machine. The child's launcher starts it, in the same sandbox.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from collectors.contract import Sentence
from collectors.parse.limits import PIECE, ImportRefused, Readable, WrongFormat
from culprit.infra import launcher

# Fields in the order in which readers know them, and the kind of sample that has each; perf refuses to print
# one that is not there.
FIELDS = (
    ("comm", "TID"), ("pid", "TID"), ("tid", "TID"), ("cpu", "CPU"), ("time", "TIME"), ("period", "PERIOD"),
    ("event", ""), ("ip", "IP"), ("sym", "IP"), ("dso", "IP"),
)  # fmt: skip
SCHED_FIELDS = "comm,pid,tid,cpu,time,event,trace"
SCHED_EVENT = b"sched:sched_switch"
_EVENT = re.compile(rb"^(\S[^\n]{0,200}?): type: .{0,2000}?sample_type: ([A-Z_|]{1,300})", re.MULTILINE)
STDERR_TAIL = 300
LIST_BYTES = 64 << 10


def list_programs() -> list[str]:
    """Return the path of perf for a sandbox, or nothing where it is not installed."""
    path = shutil.which("perf")
    # Some distributions install a shell script under this name, which looks for the real one.
    candidates = (
        [Path(path), *sorted(Path("/usr/lib").glob("linux-tools*/**/perf"), reverse=True)] if path else []
    )
    for candidate in candidates:
        with contextlib.suppress(OSError), candidate.open("rb") as stream:
            if stream.read(4) == b"\x7fELF":
                return [str(candidate.resolve())]
    return []


def perf() -> str:
    """The path of perf; raises ImportRefused with the package that has it."""
    found = launcher.find_program("perf")
    if found is None:
        raise ImportRefused(Sentence("import.no_perf", {"package": package()}))
    return found


def package(os_release: Path = Path("/etc/os-release")) -> str:
    """The package that brings perf to this system."""
    text = os_release.read_text(encoding="utf-8", errors="replace") if os_release.exists() else ""
    if "ubuntu" in text.lower():
        return f"linux-tools-{os.uname().release}"
    return "linux-perf" if "debian" in text.lower() else "perf"


def unpack(source: Readable, to: Path) -> Path:
    """The unpacked bytes as a file of its own, which perf needs; raises what the limits raise."""
    with to.open("wb") as out:
        while piece := source.read(PIECE):
            out.write(piece)
    return to


def events(path: Path) -> dict[bytes, set[str]]:
    """The events of a file with the kinds of data that their samples have; raises WrongFormat."""
    output, errors = path.with_name("perf.events"), path.with_name("perf.stderr")
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        arguments = [*_options(path), "evlist", "-v", "-i", str(path)]
        code = launcher.start_program(perf(), arguments, stdout.fileno(), stderr.fileno()).wait()
    with output.open("rb") as stream:
        listed = stream.read(LIST_BYTES)
    found = {
        match[1]: set(match[2].decode("ascii").split("|"))
        for match in _EVENT.finditer(listed)
        if not match[1].startswith(b"dummy")
    }
    if code or not found:
        raise _unreadable(errors.read_bytes(), code or 0)
    return found


def fields(path: Path) -> str:
    """What can be printed of every event of a file."""
    there = set.intersection(*events(path).values()) | {""}
    return ",".join(name for name, kind in FIELDS if kind in there)


@contextmanager
def script(path: Path, fields: str) -> Iterator[BinaryIO]:
    """The output of `perf script --no-inline`; raises WrongFormat at its end where perf failed."""
    errors = path.with_name("perf.stderr")
    arguments = ["script", "--no-inline", "--ns", "--show-lost-events", "-F", fields, "-i", str(path)]
    reading, writing = os.pipe()
    with errors.open("wb") as stderr, os.fdopen(reading, "rb") as text:
        try:
            child = launcher.start_program(perf(), [*_options(path), *arguments], writing, stderr.fileno())
        finally:
            os.close(writing)
        refused: ImportRefused | None = None
        try:
            yield text
        except ImportRefused as error:
            refused = error
        finally:
            text.close()
            code = _end(child)
    # What perf says of its own failure explains why nothing could be read of what it printed.
    if code > 0:
        raise _unreadable(errors.read_bytes(), code) from refused
    if refused is not None:
        raise refused


def _options(path: Path) -> list[str]:
    empty = path.with_name("no-cache")
    empty.mkdir(exist_ok=True)
    return ["--no-pager", "--buildid-dir", str(empty)]


def _unreadable(said: bytes, code: int) -> WrongFormat:
    words = said[-STDERR_TAIL:].decode("utf-8", "replace").strip().rpartition("\n")[2]
    return WrongFormat(Sentence("import.not_perf_data", {"said": words or f"exit code {code}"}))


def _end(child: launcher.Program) -> int:
    """Return its exit code; one that still works although its output is closed is killed after a second."""
    code = child.wait(timeout_s=1)
    if code is None:
        child.kill()
        code = child.wait()
    return code if code is not None else 0

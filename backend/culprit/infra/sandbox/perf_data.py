"""Convert perf.data to text with the perf of the server, only inside a sandboxed process.

perf reads only the file and system libraries: no symbol server, no cache of build IDs, no kernel symbols of
this machine. The launcher of the child starts it in the same sandbox.
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
from collectors.profiles.limits import PIECE, ImportRefusedError, Readable, WrongFormatError
from culprit.infra.sandbox import launcher

# Fields in the order that readers expect, with the kind of sample that has each; perf refuses to print a
# missing field.
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
    """Return the path of perf for a sandbox, or an empty list if it is not installed."""
    path = shutil.which("perf")
    # Some distributions install a shell script under this name that searches the actual program.
    candidates = (
        [Path(path), *sorted(Path("/usr/lib").glob("linux-tools*/**/perf"), reverse=True)] if path else []
    )
    for candidate in candidates:
        with contextlib.suppress(OSError), candidate.open("rb") as stream:
            if stream.read(4) == b"\x7fELF":
                return [str(candidate.resolve())]
    return []


def find_perf() -> str:
    """Return the path of perf. Raises ImportRefusedError with the name of its package."""
    program = launcher.find_program("perf")
    if program is None:
        raise ImportRefusedError(Sentence("import.no_perf", {"package": get_perf_package()}))
    return program


def get_perf_package(os_release: Path = Path("/etc/os-release")) -> str:
    """Return the package of perf in this distribution."""
    text = os_release.read_text(encoding="utf-8", errors="replace") if os_release.exists() else ""
    if "ubuntu" in text.lower():
        return f"linux-tools-{os.uname().release}"
    return "linux-perf" if "debian" in text.lower() else "perf"


def unpack_file(source: Readable, to: Path) -> Path:
    """Write the unpacked bytes to a separate file, which perf requires. Raises the errors of the limits."""
    with to.open("wb") as out:
        while piece := source.read(PIECE):
            out.write(piece)
    return to


def list_events(path: Path) -> dict[bytes, set[str]]:
    """Return the events of a file with the kinds of data of their samples. Raises WrongFormatError."""
    output, errors = path.with_name("perf.events"), path.with_name("perf.stderr")
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        arguments = [*_build_options(path), "evlist", "-v", "-i", str(path)]
        code = launcher.start_program(find_perf(), arguments, stdout.fileno(), stderr.fileno()).wait()
    with output.open("rb") as stream:
        listed = stream.read(LIST_BYTES)
    results = {
        match[1]: set(match[2].decode("ascii").split("|"))
        for match in _EVENT.finditer(listed)
        if not match[1].startswith(b"dummy")
    }
    if code or not results:
        raise _build_format_error(errors.read_bytes(), code or 0)
    return results


def select_fields(path: Path) -> str:
    """Return the fields that can be printed for every event of a file."""
    there = set.intersection(*list_events(path).values()) | {""}
    return ",".join(name for name, kind in FIELDS if kind in there)


@contextmanager
def run_script(path: Path, fields: str) -> Iterator[BinaryIO]:
    """Yield the output of `perf script --no-inline`. Raises WrongFormatError at the end if perf failed."""
    errors = path.with_name("perf.stderr")
    arguments = ["script", "--no-inline", "--ns", "--show-lost-events", "-F", fields, "-i", str(path)]
    reading, writing = os.pipe()
    with errors.open("wb") as stderr, os.fdopen(reading, "rb") as text:
        try:
            child = launcher.start_program(
                find_perf(), [*_build_options(path), *arguments], writing, stderr.fileno()
            )
        finally:
            os.close(writing)
        refused: ImportRefusedError | None = None
        try:
            yield text
        except ImportRefusedError as error:
            refused = error
        finally:
            text.close()
            code = _await_exit(child)
    # The error message of perf explains why its output could not be read.
    if code > 0:
        raise _build_format_error(errors.read_bytes(), code) from refused
    if refused is not None:
        raise refused


def _build_options(path: Path) -> list[str]:
    empty = path.with_name("no-cache")
    empty.mkdir(exist_ok=True)
    return ["--no-pager", "--buildid-dir", str(empty)]


def _build_format_error(message: bytes, code: int) -> WrongFormatError:
    words = message[-STDERR_TAIL:].decode("utf-8", "replace").strip().rpartition("\n")[2]
    return WrongFormatError(Sentence("import.not_perf_data", {"reason": words or f"exit code {code}"}))


def _await_exit(child: launcher.Program) -> int:
    """Return its exit code; kill it if it still runs one second after its output was closed."""
    code = child.wait(timeout_s=1)
    if code is None:
        child.kill()
        code = child.wait()
    return code if code is not None else 0

"""perf.data as text, by the server's own perf, inside a confined child only.

perf is told to look nowhere but into the file: no symbol server, no cache of build-ids. It finds symbols of
programs that are installed here, too, where their build-ids are those in the file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from collectors.contract import Sentence
from collectors.parse.limits import PIECE, ImportRefused, Readable, WrongFormat

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


def perf() -> str:
    """The path of perf; raises ImportRefused with the package that has it."""
    found = shutil.which("perf")
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
    done = subprocess.run(
        [*_perf(path), "evlist", "-v", "-i", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    found = {
        match[1]: set(match[2].decode("ascii").split("|"))
        for match in _EVENT.finditer(done.stdout[:LIST_BYTES])
        if not match[1].startswith(b"dummy")
    }
    if done.returncode or not found:
        raise _unreadable(done.stderr, done.returncode)
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
    with errors.open("wb") as stderr:
        child = subprocess.Popen(
            [*_perf(path), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert child.stdout is not None
        refused: ImportRefused | None = None
        try:
            yield cast(BinaryIO, child.stdout)
        except ImportRefused as error:
            refused = error
        finally:
            child.stdout.close()
            if _more(child):
                child.kill()
            code = child.wait()
    # What perf says of its own failure explains why nothing could be read of what it printed.
    if code > 0:
        raise _unreadable(errors.read_bytes(), code) from refused
    if refused is not None:
        raise refused


def _perf(path: Path) -> list[str]:
    empty = path.with_name("no-cache")
    empty.mkdir(exist_ok=True)
    return [perf(), "--no-pager", "--buildid-dir", str(empty)]


def _unreadable(said: bytes, code: int) -> WrongFormat:
    words = said[-STDERR_TAIL:].decode("utf-8", "replace").strip().rpartition("\n")[2]
    return WrongFormat(Sentence("import.not_perf_data", {"said": words or f"exit code {code}"}))


def _more(child: subprocess.Popen[bytes]) -> bool:
    """Whether it is still at work although nobody reads any more; one that is only ending is let end."""
    try:
        child.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return True
    return False

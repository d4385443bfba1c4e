"""Text of `perf script` with few fields (`-F ip,sym`, `-F comm,ip,sym`, `-F time,event,ip,sym`) → tables of samples.

Its headers lack the task or the event, by which `perf_script` recognizes a header. Here everything in front of the
frames of a sample is its header, and its fields are taken from the right end.
"""

from __future__ import annotations

import re

from collectors.parse.perf import perf_lines
from collectors.parse.profile_formats.table_builder import NO_TIME, TableBuilder
from collectors.profiles.limits import (
    DEFAULT,
    Readable,
    ReaderLimits,
    format_error,
    limit_error,
    to_printable,
)
from collectors.profiles.samples import SampleTable

CHUNK = 1 << 20
_JUDGED = 20
_IDS = re.compile(rb"(-?\d+(/-?\d+)?)?\s*(\[\d+\])?")
_TIME = re.compile(rb"\d{1,10}\.\d{3,9}:")


def is_sparse(head: bytes) -> bool:
    """Return whether the first samples of a text have headers of this kind, or none."""
    sparse = complete = 0
    for block in head.replace(b"\r\n", b"\n").split(b"\n\n")[: _JUDGED + 1]:
        lines = [line for line in block.split(b"\n") if line and not line.startswith(b"#")]
        header = lines[0] if lines and not lines[0].startswith(b"\t") else None
        frames = lines[header is not None :]
        if not frames or not all(_is_frame(line) for line in frames[:-1] or frames):
            continue
        if header is not None and perf_lines.read_header(header) is not None:
            complete += 1
        else:
            sparse += 1
    return sparse > complete


def _is_frame(line: bytes) -> bool:
    words = line.split(None, 1)
    return line[:1] in b"\t " and bool(words) and perf_lines.ADDRESS.fullmatch(words[0]) is not None


def parse_sparse_script(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`, a table per event. Raises WrongFormatError for the first sample that cannot be read."""
    reader = _Reader(limits)
    carry = b""
    while piece := source.read(CHUNK):
        *lines, carry = (carry + piece).split(b"\n")
        for line in lines:
            reader.add_line(line)
        if len(carry) > limits.line:
            raise limit_error("line", limits.line, reader.line)
    reader.add_line(carry)
    reader.add_line(b"")
    return reader.builder.finish()


class _Reader:
    """The state of one pass."""

    def __init__(self, limits: ReaderLimits) -> None:
        self.builder, self.line = TableBuilder(limits), 0
        self._limits = limits
        self._header: bytes | None = None
        self._stack: list[int] = []
        self._frames: dict[bytes, int] = {}

    def add_line(self, line: bytes) -> None:
        """Read a line: a header, a frame, or the empty line behind a sample."""
        self.line += 1
        line = line.rstrip(b"\r")
        if len(line) > self._limits.line:
            raise limit_error("line", self._limits.line, self.line)
        if not line.strip():
            self._add_sample()
        elif line.startswith(b"\t") or (self._header is not None and _is_frame(line)):
            self._stack.append(self._frames.get(line) or self._read_frame(line))
            if len(self._stack) > self._limits.depth:
                raise limit_error("depth", self._limits.depth, self.line)
        elif not line.startswith(b"#"):
            if self._header is not None or self._stack:
                raise format_error("perf_script", self.line, line)
            self._header = line

    def _read_frame(self, line: bytes) -> int:
        frame = perf_lines.read_frame(line, self._limits.symbol)
        if frame is None:
            raise format_error("perf_script", self.line, line)
        result = self.builder.frame(frame.name, frame.module, frame.kind, frame.flags)
        self._frames[line] = result
        return result

    def _add_sample(self) -> None:
        if self._header is None and not self._stack:
            return
        comm, pid, tid, cpu, t_ns, name = _read_fields(self._header or b"")
        event = self.builder.event_id(name.decode("utf-8", "replace"), "samples")
        task = self.builder.task(to_printable(comm.decode("utf-8", "replace")), pid, tid)
        node = self.builder.extend(task.root, self._stack[::-1])
        self.builder.add_sample(event, t_ns, 1, task, node, cpu)
        self._header, self._stack = None, []


def _read_fields(header: bytes) -> tuple[bytes, int, int, int, int, bytes]:
    """Return task name, pid, tid, CPU, time and event of a header, each empty, -1 or NO_TIME where it has none."""
    words = header.split()
    t_ns, event = NO_TIME, b""
    times = [at for at, word in enumerate(words) if _TIME.fullmatch(word)]
    if times:
        t_ns = perf_lines.read_time(words[times[-1]][:-1])
        event = next((word[:-1] for word in words[times[-1] + 1 :] if word.endswith(b":")), b"")
        words = words[: times[-1]]
    elif words and words[-1].endswith(b":"):
        event = words.pop()[:-1]
    rest = b" ".join(words)
    nameless = bool(rest) and _IDS.fullmatch(rest) is not None
    task = perf_lines.read_task(b"x " + rest if nameless else rest)
    comm, *ids = task or (rest, -1, -1, -1)
    return b"" if nameless else comm, ids[0], ids[1], ids[2], t_ns, event

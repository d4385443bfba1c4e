"""Maps that bpftrace prints, keyed by stacks (`@[…]: 12`) → table of counts without times.

Source: the section "Map Printing" of the bpftrace manual. A stack is printed with the innermost frame first.
"""

from __future__ import annotations

import re

from collectors.parse.profile_formats.table_builder import NO_TIME, TableBuilder
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits, format_error, limit_error
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import FrameKind

_BEGIN = re.compile(rb"@(\w*)\[(.*)")
_END = re.compile(rb"(.*)\]: (\d{1,18})")
_OFFSET = re.compile(r"\+(0x[0-9a-f]+|\d+)$")
_MODULE = re.compile(r"(.*) \(([^()]*)\)")
_NOTES = (b"Attach", b"Lost ", b"@")
_INDENT = b"    "
CHUNK = 1 << 20


def parse_bpftrace(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`: a table for each map. Raises WrongFormatError for the first line that is nothing known."""
    reader = _MapReader(limits)
    carry = b""
    while piece := source.read(CHUNK):
        *lines, carry = (carry + piece).split(b"\n")
        for line in lines:
            reader.add_line(line)
        if len(carry) > limits.line:
            raise limit_error("line", limits.line, reader.line)
    reader.add_line(carry)
    return reader.builder.finish()


class _MapReader:
    """The state of one pass: the entry that is open has words (a name, an id) and stacks, outermost frame last."""

    def __init__(self, limits: ReaderLimits) -> None:
        self.builder, self.line = TableBuilder(limits), 0
        self._limits = limits
        self._map: str | None = None
        self._words: list[bytes] = []
        self._stacks: list[list[bytes]] = []
        self._in_stack = False

    def add_line(self, line: bytes) -> None:
        """Read a line."""
        self.line += 1
        line = line.rstrip(b"\r")
        if len(line) > self._limits.line:
            raise limit_error("line", self._limits.line, self.line)
        if self._map is None:
            begin = _BEGIN.fullmatch(line)
            if begin is None:
                if line and not line.isspace() and not line.startswith(_NOTES):
                    raise format_error("bpftrace", self.line, line)
                return
            self._map, line = begin[1].decode(), begin[2]
            self._words, self._stacks, self._in_stack = [], [], False
        if line.startswith(_INDENT):
            if not self._in_stack:
                self._stacks.append([])
                self._in_stack = True
            self._stacks[-1].append(line.strip())
            if len(self._stacks[-1]) > self._limits.depth:
                raise limit_error("depth", self._limits.depth, self.line)
            return
        self._in_stack = False
        end = _END.fullmatch(line)
        self._words += [word.strip() for word in (end[1] if end else line).split(b",") if word.strip()]
        if end:
            self._add_entry(int(end[2]))

    def _add_entry(self, count: int) -> None:
        """Add the open entry. Of two stacks, the first is that of the kernel, as `kstack, ustack` is written."""
        builder = self.builder
        comm = next((word.decode("utf-8", "replace") for word in self._words if not word.isdigit()), "")
        pid = next((int(word) for word in self._words if word.isdigit() and len(word) < 11), -1)
        frames: list[int] = []
        for number, stack in reversed(list(enumerate(self._stacks))):
            kernel = number == 0 and len(self._stacks) > 1
            frames += [self._read_frame(line, kernel=kernel) for line in reversed(stack)]
        task = builder.task(comm, pid, -1)
        event = builder.event_id(self._map or "", "samples")
        builder.add_sample(event, NO_TIME, count, task, builder.extend(task.root, frames))
        self._map = None

    def _read_frame(self, line: bytes, *, kernel: bool) -> int:
        text = line.decode("utf-8", "replace")
        match = _MODULE.fullmatch(text)
        name, module = (match[1], match[2]) if match else (text, "")
        name = _OFFSET.sub("", name)
        kind = FrameKind.UNKNOWN if name.startswith("0x") else FrameKind.KERNEL if kernel else None
        return self.builder.frame(name, module, kind)

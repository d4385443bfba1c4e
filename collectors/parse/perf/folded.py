"""Folded stacks (`a;b;c 12`, outermost first, one stack a line) → SampleTable without times, CPUs or tasks.

The marks that folding tools append are understood: `_[k]` kernel, `_[i]` inlined, `_[j]` JIT. So is `-` between the
frames of a program and those of the kernel, which bcc writes with `-d`. A number behind the last space is the weight;
fractions are refused, because they would not add up.
"""

from __future__ import annotations

from array import array

import numpy as np

from collectors.contract import Sentence
from collectors.profiles.limits import (
    DEFAULT,
    ImportRefusedError,
    Readable,
    ReaderLimits,
    format_error,
    limit_error,
    to_printable,
)
from collectors.profiles.samples import Quality, SampleTable, Unit
from collectors.profiles.trie import INLINED, FrameKind, Strings, TrieBuilder

PARSER_VERSION = 1
CHUNK = 1 << 20
WEIGHT_MAX = 1 << 53
_MARKS = {
    b"_[k]": (FrameKind.KERNEL, 0),
    b"_[i]": (FrameKind.USER, INLINED),
    b"_[j]": (FrameKind.JIT, 0),
    b"_[w]": (FrameKind.USER, 0),
}


def parse_folded(source: Readable, limits: ReaderLimits = DEFAULT, unit: Unit = "samples") -> SampleTable:
    """Read all of `source`. Raises WrongFormat (`import.not_folded`) for the first line that is no stack."""
    reader = _Reader(limits)
    carry = b""
    while piece := source.read(CHUNK):
        carry += piece
        cut = carry.rfind(b"\n")
        if cut >= 0:
            reader.lines(carry[:cut])
            carry = carry[cut + 1 :]
        if len(carry) > limits.line:
            raise limit_error("line", limits.line, reader.line)
    reader.lines(carry)
    return reader.finish(unit)


def _mark_kernel(words: list[bytes]) -> list[bytes]:
    """Leave out the delimiter of bcc and mark the frames behind it."""
    at = words.index(b"-", 1)
    return words[:at] + [word if word[-4:] in _MARKS else word + b"_[k]" for word in words[at + 1 :]]


class _Reader:
    def __init__(self, limits: ReaderLimits) -> None:
        self.limits, self.line = limits, 1
        self.trie = TrieBuilder(limits)
        self.nodes, self.weights = array("i"), array("q")
        self.cut = 0
        self._frames: dict[bytes, int] = {}

    def lines(self, text: bytes) -> None:
        """Read whole lines."""
        for line in text.split(b"\n"):
            if len(line) > self.limits.line:
                raise limit_error("line", self.limits.line, self.line)
            if line and not line.isspace() and line[:1] != b"#":
                self._stack(line.rstrip())
            self.line += 1

    def _stack(self, line: bytes) -> None:
        stack, _, count = line.rpartition(b" ")
        if not stack or not count.isdigit() or len(count) > 16 or int(count) > WEIGHT_MAX:
            raise format_error("folded", self.line, line)
        words = stack.split(b";")
        if len(words) > self.limits.depth:
            raise limit_error("depth", self.limits.depth, self.line)
        if b"-" in words[1:]:
            words = _mark_kernel(words)
        known = self._frames.get
        frames = [known(word) or self._frame(word) for word in words]
        self.nodes.append(self.trie.extend(0, frames))
        self.weights.append(int(count))

    def _frame(self, word: bytes) -> int:
        kind, flags = _MARKS.get(word[-4:], (FrameKind.USER, 0))
        text = word[:-4] if word[-4:] in _MARKS else word
        if len(text) > self.limits.symbol:
            text, self.cut = text[: self.limits.symbol], self.cut + 1
        name = to_printable(text.decode("utf-8", "replace")).strip() or "[unknown]"
        if name.startswith("[") and name.endswith("]"):
            kind = FrameKind.UNKNOWN  # folding tools write the module for a frame without a symbol
        result = self._frames[word] = self.trie.frame_id(name, "", kind, flags)
        return result

    def finish(self, unit: Unit) -> SampleTable:
        """The table; one row per line."""
        n = len(self.nodes)
        if not n:
            raise ImportRefusedError(Sentence("import.no_samples"))
        trie, frames, position = self.trie.finish()
        none = np.full(n, -1, np.int32)
        return SampleTable(
            t_ns=np.zeros(n, np.int64),
            cpu=none,
            pid=none,
            tid=none,
            comm=np.zeros(n, np.int32),
            weight=np.array(self.weights),
            stack=position[np.array(self.nodes)],
            event=np.zeros(n, np.uint8),
            comms=Strings.of([""]),
            frames=frames,
            trie=trie,
            unit=unit,
            has_time=False,
            has_cpu=False,
            quality=Quality(cut_names=self.cut),
        ).measured()

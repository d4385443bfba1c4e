"""The text of `perf script` → SampleTable, in one pass, in bounded memory, each distinct stack parsed once.

Text comes as blocks: a header line, the frames below it, an empty line. Most samples repeat a task and a
stack that were seen before, so a block is cut at its first newline and both halves are looked up as they are.
Anything else goes through the grammar of `collectors.parse.perf.perf_lines`, line by line. The caches are
emptied when they hold `CACHE_BYTES` of text, so memory follows the number of distinct stacks, not the size of
the text.
"""

from __future__ import annotations

from array import array

import numpy as np

from collectors.contract import Sentence
from collectors.parse.perf import perf_lines
from collectors.parse.perf.perf_blocks import LAYOUTS_MAX, Blocks, Layout, Leaves, find_blocks, find_leaves
from collectors.profiles.limits import (
    DEFAULT,
    ImportRefusedError,
    Readable,
    ReaderLimits,
    format_error,
    limit_error,
    to_printable,
)
from collectors.profiles.samples import Quality, SampleTable
from collectors.profiles.trie import I64, FrameKind, Strings, TrieBuilder

PARSER_VERSION = 1
CHUNK = 1 << 20
BLOCK_MAX = 2 << 20
CACHE_BYTES = 48 << 20
TASKS_MAX = 100_000
EVENTS_MAX = 255
STRAY_LINES_MAX = 200
"""Lines in front of the first sample that may be something else, before the text is called no perf script
output.
"""


def parse_perf_script(source: Readable, limits: ReaderLimits = DEFAULT) -> SampleTable:
    """Read all of `source`, the unpacked text (see `collectors.profiles.limits.bounded_open`).

    Times are nanoseconds of perf's clock. Raises WrongFormat (`import.not_perf_script`, `import.no_samples`)
    and LimitExceeded; anything else that cannot be read is counted in the table's `quality`.
    """
    reader = _Reader(limits)
    carry, windows = b"", False
    while piece := source.read(CHUNK):
        windows = windows or b"\r\n" in piece
        carry += piece
        if windows:
            carry = carry.replace(b"\r\n", b"\n")
        cut = carry.rfind(b"\n\n")
        if cut >= 0:
            reader.blocks(carry[:cut])
            reader.line += 2
            carry = carry[cut + 2 :]
        if len(carry) > BLOCK_MAX:
            cut = carry.rfind(b"\n")
            if cut < 0:
                raise limit_error("line", limits.line, reader.line)
            reader.lines(carry[:cut], reader.line)
            reader.line += carry.count(b"\n", 0, cut) + 1
            carry = carry[cut + 1 :]
    reader.blocks(carry.rstrip(b"\r\n"))
    return reader.finish()


class _Reader:
    """The state of one pass."""

    def __init__(self, limits: ReaderLimits) -> None:
        self.limits = limits
        self.line = 1  # the line at which the text not yet read begins
        self.trie = TrieBuilder(limits)
        self.comms: dict[str, int] = {}
        self.events: dict[str, int] = {}
        # Row 0 of the task columns (pid, tid, cpu, comm) is no task.
        self.task_columns = tuple(array("i", [value]) for value in (-1, -1, -1, 0))
        self.rows = tuple(array(code) for code in "qiiB")  # t_ns, task, node, event
        self.lost = self.lost_samples = self.skipped = self.first_skipped = self.cut = 0
        self._stray: tuple[int, bytes] | None = None
        self._layouts: list[Layout] = []
        self._tasks: dict[bytes, int] = {}  # task part of a header → row of task_columns
        self._roots = array("i", [-1])  # row of task_columns → node of the task's name
        self._tails: dict[int, int] = {}  # hash of (root, stack without its innermost line) → node
        self._frames: dict[bytes, int] = {}  # line → frame
        self._symbols: tuple[dict[bytes, int], dict[bytes, int]] = (
            {},
            {},
        )  # line without its address → frame
        self._cached = 0
        self._open: tuple[perf_lines.SampleHeader, int] | None = None
        self._stack: list[int] = []

    def blocks(self, text: bytes) -> None:
        """Read whole blocks, quickly where the layout is known. Advances `line` to the end of `text`."""
        data = np.frombuffer(text, np.uint8)
        blocks = find_blocks(data)
        start = 0
        while start < len(blocks.starts) and (self._open is not None or not self._layouts):
            self._slow(text, blocks, start)
            start += 1
        rest = np.arange(start, len(blocks.starts))
        for layout in self._layouts[:]:
            rows, task_ends, t_ns = layout.match(data, blocks, rest)
            if len(rows):
                bad = self._quick(text, blocks, rows, task_ends, t_ns, layout)
                rest = np.union1d(np.setdiff1d(rest, rows, assume_unique=True), bad)
            if not len(rest):
                break
        for row in rest.tolist():
            self._slow(text, blocks, row)
        self.line += len(blocks.newlines)

    def _slow(self, text: bytes, blocks: Blocks, row: int) -> None:
        """Read one block by its lines."""
        start, end = int(blocks.starts[row]), int(blocks.ends[row])
        self.lines(text[start:end], self.line + blocks.line_of(start))
        self._close()

    def _quick(  # noqa: PLR0917
        self, text: bytes, blocks: Blocks, rows: I64, task_ends: I64, t_ns: I64, layout: Layout
    ) -> I64:
        """Add the samples of blocks whose headers have `layout`; returns the rows to be read by lines."""
        known, learn = self._tasks.get, self._learn
        heads = [text[a:b] for a, b in zip(blocks.starts[rows].tolist(), task_ends.tolist(), strict=True)]
        tasks = [known(head) or learn(head) for head in heads]
        roots = [self._roots[task] for task in tasks]
        leaves = find_leaves(np.frombuffer(text, np.uint8), blocks, rows)
        frames = self._leaf_frames(text, leaves)
        behind = zip((leaves.ends + 1).tolist(), blocks.ends[rows].tolist(), strict=True)
        keys = list(zip(roots, [text[a:b] for a, b in behind], strict=True))
        seen, tail = self._tails.get, self._tail
        tails = [seen(short) or tail(short, *key) for short, key in zip(map(hash, keys), keys, strict=True)]
        child, extend = self.trie.children.get, self.trie.extend
        nodes = np.array(
            [
                (child(node << 20 | frame) or extend(node, [frame])) if frame > 0 < node else frame and -1
                for node, frame in zip(tails, frames, strict=True)
            ],
            np.int64,
        )
        bare = leaves.starts >= blocks.ends[rows]
        nodes[bare] = np.array(roots, np.int64)[bare]
        good = nodes > 0
        event = self._event(layout.suffix.rstrip())
        column = (t_ns, np.array(tasks, np.int64), nodes, np.full(len(rows), event))
        for target, values in zip(self.rows, column, strict=True):
            target.frombytes(values[good].astype(target.typecode).tobytes())
        if self._cached > CACHE_BYTES:
            self._forget()
        return rows[~good]

    def _leaf_frames(self, text: bytes, leaves: Leaves) -> list[int]:
        """The frames of innermost lines, 0 where a line is none. Looked up without the address, which
        differs.
        """
        low, high = self._symbols
        spans = zip(leaves.symbols.tolist(), leaves.ends.tolist(), leaves.high.tolist(), strict=True)
        frames = [(high if upper else low).get(text[a:b], 0) for a, b, upper in spans]
        for i in np.flatnonzero((np.array(frames) == 0) | ~leaves.common).tolist():
            line = text[leaves.starts[i] : leaves.ends[i]]
            frames[i] = self._frame(line) if line else 0
        return frames

    def _learn(self, head: bytes) -> int:
        """The row of a task part not seen before; 0, which has no name, where it cannot be one."""
        task = perf_lines.read_task(head)
        if task is None:
            return 0
        row = self._row(*task)
        if len(self._tasks) >= TASKS_MAX:
            self._tasks.clear()
        self._tasks[head] = row
        return row

    def _row(self, comm: bytes, pid: int, tid: int, cpu: int) -> int:
        """A new row of the task columns."""
        name = to_printable(comm.decode("utf-8", "replace"))[: self.limits.symbol]
        index = self.comms.setdefault(name, len(self.comms))
        for column, value in zip(self.task_columns, (pid, tid, cpu, index), strict=True):
            column.append(value)
        self._roots.append(self.trie.extend(0, [self.trie.frame_id(name, "", FrameKind.COMM)]))
        return len(self._roots) - 1

    def _tail(self, key: int, root: int, text: bytes) -> int:
        """The node of callers (`text`: a stack without its innermost line) not seen before; -1: no frame
        lines.

        They are remembered by hash: 64 keyed bits, so that even a million different ones meet in one of 30
        million captures, at a tenth of the memory of the texts.
        """
        if root < 0:
            return -1
        again = self._tails.get(key)
        if again is not None:
            return again
        stack: list[int] = []
        if text:
            known = self._frames.get
            stack = [known(line) or self._frame(line, keep=True) for line in text.split(b"\n")]
            if not all(stack) or len(stack) >= self.limits.depth:
                return -1
            stack.reverse()
        node = self._tails[key] = self.trie.extend(root, stack)
        self._cached += 150
        return node

    def _forget(self) -> None:
        """Empty the caches of text; what was read stays."""
        self._tails.clear()
        self._frames.clear()
        for symbols in self._symbols:
            symbols.clear()
        self._cached = 0

    def _frame(self, line: bytes, *, keep: bool = False) -> int:
        """The frame of a line, 0 where it is none. `keep` remembers the line with its address, else only the
        symbol.
        """
        address, _, rest = line.lstrip().partition(b" ")
        symbols = self._symbols[len(address) == 16]
        symbol = symbols.get(rest, 0)
        if not symbol:
            frame = perf_lines.read_frame(line, self.limits.symbol) if len(line) <= self.limits.line else None
            if frame is None:
                return 0
            self.cut += frame.cut
            name, module = to_printable(frame.name), to_printable(frame.module)
            symbol = symbols[rest] = self.trie.frame_id(name, module, frame.kind, frame.flags)
            self._cached += len(rest) + 150
        elif not perf_lines.ADDRESS.fullmatch(address):
            return 0
        if keep:
            self._frames[line] = symbol
            self._cached += len(line) + 150
        return symbol

    def _event(self, word: bytes) -> int:
        """The id of an event from the last word of a header (with its colon), -1 where it cannot be one."""
        if word[-1:] != b":" or len(word) < 2:
            return -1
        name = to_printable(word[:-1].decode("utf-8", "replace"))
        return self.events.setdefault(name, min(len(self.events), EVENTS_MAX))

    # --- line by line
    # ----------------------------------------------------------------------------------------

    def lines(self, text: bytes, number: int) -> None:
        """Read lines of any layout; `number` is that of the first. A sample may stay open at the end."""
        for at, line in enumerate(text.split(b"\n"), number):
            if len(line) > self.limits.line:
                raise limit_error("line", self.limits.line, at)
            if not line or line.isspace():
                self._close()
            elif line[:1] == b"\t":
                _ = self._add(line, at) or self._skip(line, at)
            elif not self._begin(line) and not (line[:1] == b" " and self._add(line, at)):
                self._close()
                self._skip(line, at)

    def _add(self, line: bytes, number: int) -> bool:
        """A frame line of the open sample."""
        frame = self._frames.get(line) or self._frame(line, keep=True)
        if self._open is None or not frame:
            return False
        if len(self._stack) >= self.limits.depth:
            raise limit_error("depth", self.limits.depth, number)
        self._stack.append(frame)
        return True

    def _skip(self, line: bytes, number: int) -> bool:
        """A line that is nothing known."""
        if line[:1] == b"#" or (self._open is not None and line[:1] in b"\t "):
            return True  # comments; source lines and the like below a frame
        if self._stray is None:
            self._stray = number, line
        self.skipped += 1
        self.first_skipped = self.first_skipped or number
        if len(self._roots) == 1 and self.skipped > STRAY_LINES_MAX:
            raise format_error("perf_script", *self._stray)
        return True

    def _begin(self, line: bytes) -> bool:
        """A header or a record without samples; closes the sample before it."""
        lost = perf_lines.LOST.search(line[: 2 * perf_lines.HEADER_HEAD])
        if lost:
            self._close()
            count = min(int(lost[2][:18]), 1 << 53)
            if lost[1]:
                self.lost_samples += count
            else:
                self.lost += count
            return True
        header = perf_lines.read_header(line)
        if header is None or (header.t_ns < 0 and self._layouts):  # one capture either has times or has none
            if not perf_lines.RECORD.search(line[: 2 * perf_lines.HEADER_HEAD]):
                return False
            self._close()
            return True
        self._close()
        self._open = header, self._task(line, header)
        if header.rest and ":" not in header.event:
            frame = self._frame(b"\t" + header.rest)
            self._stack = [frame] if frame else []
        return True

    def _task(self, line: bytes, header: perf_lines.SampleHeader) -> int:
        """The task of a header; the layout is remembered for the fast path if it is a common one."""
        layout = Layout.of(line) if not header.rest and header.t_ns >= 0 else None
        if layout and layout not in self._layouts and len(self._layouts) < LAYOUTS_MAX:
            self._layouts.append(layout)
        return self._row(header.comm, header.pid, header.tid, header.cpu)

    def _close(self) -> None:
        """End the open sample, if any."""
        if self._open is None:
            return
        header, task = self._open
        node = self.trie.extend(self._roots[task], self._stack[::-1])
        event = self.events.setdefault(to_printable(header.event), min(len(self.events), EVENTS_MAX))
        for column, value in zip(self.rows, (header.t_ns, task, node, event), strict=True):
            column.append(value)
        self._open, self._stack = None, []

    # --- columns
    # ---------------------------------------------------------------------------------------------

    def finish(self) -> SampleTable:
        """The table. Raises where there is no sample in it."""
        self._close()
        t_ns, row, node, event = (np.array(column) for column in self.rows)
        if not len(t_ns):
            if self._stray:
                raise format_error("perf_script", *self._stray)
            raise ImportRefusedError(Sentence("import.no_samples"))
        trie, frames, position = self.trie.finish()
        pid, tid, cpu, comm = (np.array(column)[row] for column in self.task_columns)
        timed = bool((t_ns >= 0).all())
        table = SampleTable(
            t_ns=t_ns if timed else np.zeros(len(t_ns), np.int64),
            cpu=cpu,
            pid=pid,
            tid=tid,
            comm=comm,
            weight=np.ones(len(t_ns), np.int64),
            stack=position[node],
            event=event,
            comms=Strings.of(list(self.comms)),
            frames=frames,
            trie=trie,
            events=tuple(sorted(self.events, key=self.events.__getitem__))[:EVENTS_MAX]
            + ("(other)",) * (len(self.events) > EVENTS_MAX),
            has_time=timed,
            has_cpu=bool((cpu >= 0).any()),
            quality=Quality(
                lost=max(self.lost, self.lost_samples),  # two records of the same loss
                skipped_lines=self.skipped,
                first_skipped=self.first_skipped,
                cut_names=self.cut,
            ),
        )
        return table.sorted().measured()

"""What the tests of profiles share: captured files, and a reader that is slow and obvious."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from collectors.profiles.samples import SampleTable
from collectors.profiles.scheduling import SchedTable
from collectors.profiles.trie import FrameKind

FIXTURES = Path(__file__).parent / "fixtures" / "profiles"

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "]]><!--",
    "a\"b'c&d",
    "&lt;&#0;&#x1b;",
    "javascript:alert(1)",
    'x" onload="alert(1)',
    "\x1b[31mred\x07",
    "nul\x00byte",
    "bell\x08\x7f",
    "rtl\u202egpj.exe",
    "non\ufffechar\uffff",
    "c1\x85\x9b31m",
    "${jndi:ldap://x}{{7*7}}",
    "=HYPERLINK(1)",
    "../../etc/passwd",
    "名前 symbol",
    "a b  c",
    "operator()(int) (x)",
    "(((",
    ")))",
    "[unknown]",
    "-",
    "%s%n%x",
    "1 2 3",
    "__proto__",
    "constructor",
]


def captured(name: str) -> bytes:
    """The text of a captured file."""
    return gzip.decompress((FIXTURES / f"{name}.gz").read_bytes())


def source(text: bytes) -> io.BytesIO:
    """Something with `read`."""
    return io.BytesIO(text)


def stacks(table: SampleTable) -> Counter[tuple[str, ...]]:
    """Each stack (names, outermost first) and its weight, one sample at a time."""
    words = table.frames.strings.all()
    names = [words[i] for i in table.frames.name.tolist()]
    seen: Counter[tuple[str, ...]] = Counter()
    for node, weight in zip(table.stack.tolist(), table.weight.tolist(), strict=True):
        seen[tuple(names[f] for f in table.trie.path(node))] += weight
    return seen


def list_samples(table: SampleTable) -> list[tuple[object, ...]]:
    """Every sample with its stack, the outermost frame first; a frame without a symbol has no name."""
    words, kinds = table.frames.strings.all(), table.frames.kind.tolist()
    names = [
        "?" if kinds[frame] == FrameKind.UNKNOWN else words[name]
        for frame, name in enumerate(table.frames.name.tolist())
    ]
    stacks = {
        node: tuple(names[frame] for frame in table.trie.path(node)) for node in set(table.stack.tolist())
    }
    comms = table.comms.all()
    columns = (table.t_ns, table.cpu, table.pid, table.tid, table.comm, table.stack, table.event)
    return sorted(
        (t, cpu, pid, tid, comms[comm], table.events[event].partition(":")[0], stacks[stack])
        for t, cpu, pid, tid, comm, stack, event in zip(*(column.tolist() for column in columns), strict=True)
    )


def list_slices(table: SchedTable) -> list[tuple[int, ...]]:
    """Every slice: time, CPU, length, thread, state, delay, origin, the thread and the CPU that woke it, and the cut."""
    columns = (
        table.t_ns,
        table.cpu,
        table.len_ns,
        table.tid[table.task],
        table.state,
        table.delay_ns,
        table.origin,
        np.r_[table.tid, -1][table.waker],
        table.wake_cpu,
    )
    return sorted(zip(*(column.tolist() for column in (*columns, table.cut)), strict=True))


def list_tasks(table: SchedTable) -> dict[tuple[int, int], object]:
    """The totals of every thread by process and thread ID, without its name."""
    return {(task.pid, task.tid): replace(task, comm="") for task in table.tasks()}

"""The grammar of `perf script` lines, as perf 4.x to 6.x print them: headers, lost-event records, frames.

A header is `COMM TID|PID/TID [CPU] TIME: PERIOD EVENT: REST`; CPU, TIME and PERIOD may be missing, depending
on `-F`. COMM may hold spaces, brackets, digits and colons, so a header is read from its right end, where the
fields are unambiguous. A frame is `\\t ADDRESS SYMBOL+0xOFFSET (MODULE)`, innermost first. Source:
tools/perf/builtin-script.c (perf_sample__fprintf_start) and util/evsel_fprintf.c of Linux.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from collectors.profiles.trie import INLINED, FrameKind

HEADER_HEAD = 512
"""A header's task, time and event stand within this many bytes; a task's name has at most 63."""

_TIME = re.compile(rb"(?<=\s)([0-8]?\d{1,9}\.\d{3,9}):(?=\s)")
_EVENT = re.compile(rb"[^\s:]\S*:")
LOST = re.compile(rb"PERF_RECORD_LOST(_SAMPLES)?\s.*?lost\s+(\d+)")
RECORD = re.compile(rb"PERF_RECORD_[A-Z0-9_]+")

ADDRESS = re.compile(rb"[0-9a-f]{1,16}")
_OFFSET = re.compile(rb"\+0x[0-9a-f]+$")
_JIT = re.compile(
    r"perf-\d+\.map$|/jitted-\d+-\d+\.so$|^/?memfd:|^//anon$|^\[anon|^anon_inode|/jit-\d+\.dump$|\.jitdump$"
)
_KERNEL_FILE = re.compile(
    r"\.ko(\.xz|\.zst|\.gz)?$|(^|/)vmlinu[xz](-[^/]*)?$|^bpf_prog_|^\[bpf|^\[guest\.kernel"
)
_USER_BRACKETS = frozenset(
    {"[vdso]", "[vdso32]", "[vsyscall]", "[heap]", "[stack]", "[unknown]", "[uprobes]", "[vvar]"}
)
_MODULE_MAX = 4096 + 2  # the longest path, and its parentheses
_KERNEL_HALF = 0xFFFF_0000_0000_0000

IDLE_FUNCTIONS = frozenset(
    [
        "default_idle",
        "default_idle_call",
        "arch_cpu_idle",
        "cpuidle_enter",
        "cpuidle_enter_state",
        "cpuidle_idle_call",
        "do_idle",
        "cpu_idle",
        "cpu_idle_loop",
        "cpu_startup_entry",
        "intel_idle",
        "intel_idle_irq",
        "intel_idle_ibrs",
        "intel_idle_s2idle",
        "mwait_idle",
        "mwait_idle_with_hints.constprop.0",
        "acpi_idle_enter",
        "acpi_idle_do_entry",
        "acpi_safe_halt",
        "acpi_processor_ffh_cstate_enter",
        "poll_idle",
        "native_safe_halt",
        "pv_native_safe_halt",
        "amd_e400_idle",
        "cpu_do_idle",
        "default_enter_idle",
        "haltpoll_enter_idle",
        "xen_safe_halt",
        "hv_safe_halt",
        "kvm_halt",
        "tick_nohz_idle_enter",
        "tick_nohz_idle_exit",
        "psci_enter_idle_state",
        "__cpuidle_text_start",
    ]
)
"""Kernel functions in which a CPU does nothing (x86-64 and arm64); as innermost frame, the sample is idle
time.
"""


@dataclass(frozen=True, slots=True)
class SampleHeader:
    """One header line. `t_ns` and `cpu` are -1 and `pid`, `tid` -1 where the text has none; `rest` follows
    the event.
    """

    comm: bytes
    pid: int
    tid: int
    cpu: int
    t_ns: int
    event: str
    rest: bytes


def read_task(text: bytes) -> tuple[bytes, int, int, int] | None:
    """(comm, pid, tid, cpu) from the part of a header in front of its time. A single number is the thread's.

    Where the text names no process the thread's ID is used. Reads from the right, as a name may hold
    anything.
    """
    words = text.rsplit(None, 1)
    cpu = -1
    if len(words) == 2 and words[1].startswith(b"[") and words[1].endswith(b"]") and words[1][1:-1].isdigit():
        text, cpu = words[0], _parse_id(words[1][1:-1])
        words = text.rsplit(None, 1)
    if len(words) == 2:
        first, slash, second = words[1].partition(b"/")
        if _is_id(first) and (not slash or _is_id(second)):
            return words[0].strip(), _parse_id(first), _parse_id(second if slash else first), cpu
    return (text.strip(), -1, -1, cpu) if cpu >= 0 and words else None


def _is_id(word: bytes) -> bool:
    return word.removeprefix(b"-").isdigit()


def _parse_id(digits: bytes) -> int:
    value = int(digits) if len(digits) < 12 else -1
    return value if -1 <= value < 1 << 31 else -1


def read_time(digits: bytes) -> int:
    """`SECONDS.FRACTION` as nanoseconds, exactly."""
    seconds, _, fraction = digits.partition(b".")
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, b"0"))


def read_header(line: bytes) -> SampleHeader | None:
    """Read a header line of any layout; None where it is none. Work is linear in the length of the line.

    Without text behind the event the last time in the line is the right one, however the task is named; with
    text behind it (a tracepoint's fields, the address of a sample without a chain) the first is.
    """
    times = list(_TIME.finditer(line[:HEADER_HEAD]))
    if not times:
        return _read_timeless(line)
    if len(line) <= HEADER_HEAD:
        words = line[times[-1].end() :].split()
        if 0 < len(words) <= 2 and (len(words) == 1 or words[0].isdigit()) and _EVENT.fullmatch(words[-1]):
            return _match_header(line[: times[-1].start()], read_time(times[-1][1]), words[-1], b"")
    for time in times:
        words = line[time.end() :].split(None, 2)
        if len(words) >= 2 and words[0].isdigit():
            words = line[time.end() :].split(None, 3)[1:]
        if words and _EVENT.fullmatch(words[0]):
            event = line.index(words[0], time.end())
            header = _match_header(
                line[: time.start()], read_time(time[1]), words[0], line[event + len(words[0]) :].strip()
            )
            if header is not None:
                return header
    return None


def _match_header(task: bytes, t_ns: int, event: bytes, rest: bytes) -> SampleHeader | None:
    matching_task = read_task(task)
    return (
        SampleHeader(*matching_task, t_ns, event[:-1].decode("utf-8", "replace"), rest)
        if matching_task
        else None
    )


def _read_timeless(line: bytes) -> SampleHeader | None:
    """`COMM TID [CPU] PERIOD EVENT: REST` without a time: the first word that ends in a colon behind an id is
    the event.
    """
    head = line[:HEADER_HEAD]
    for match in _EVENT.finditer(head):
        task = head[: match.start()].rstrip()
        words = task.rsplit(None, 2)
        if match[0][:-1].isdigit() or (
            match.end() < len(head) and not head[match.end() : match.end() + 1].isspace()
        ):
            continue
        if (
            len(words) == 3
            and words[2].isdigit()
            and (words[1][:1] == b"[" or words[1].replace(b"/", b"").isdigit())
        ):
            task = task[: task.rindex(words[2])]
        header = _match_header(task, -1, match[0], line[match.end() :].strip()) if len(words) > 1 else None
        if header is not None and header.comm:
            return header
    return None


@dataclass(frozen=True, slots=True)
class FrameText:
    """One frame line: `name` and `module` as text, what it is, and flags (`INLINED`)."""

    name: str
    module: str
    kind: FrameKind
    flags: int
    cut: bool = False


def read_frame(line: bytes, symbol_limit: int) -> FrameText | None:
    """Read a frame line; None where it is none. Names longer than `symbol_limit` bytes are cut (`cut`)."""
    words = line.split(None, 1)
    if not words or not ADDRESS.fullmatch(words[0]):
        return None
    address, rest = int(words[0], 16), words[1].rstrip() if len(words) == 2 else b""
    name, module = _split_module(rest)
    name = _OFFSET.sub(b"", name)
    inlined = module == b"inlined"
    name, cut = _shorten(name, symbol_limit)
    module, module_cut = _shorten(module, symbol_limit)
    text, where = name.decode("utf-8", "replace"), "" if inlined else module.decode("utf-8", "replace")
    return FrameText(
        text or "[unknown]", where, frame_kind(text, where, address), INLINED * inlined, cut or module_cut
    )


def _split_module(rest: bytes) -> tuple[bytes, bytes]:
    """`SYMBOL (MODULE)` cut at the parenthesis that matches the last one: either may hold parentheses and
    spaces.
    """
    if not rest.endswith(b")"):
        return rest, b""
    start = rest.rfind(b" (") + 1
    if start > 0 and rest.count(b"(", start) == 1 and rest.count(b")", start) == 1:
        return rest[: start - 1].rstrip(), rest[start + 1 : -1]
    tail = rest[-_MODULE_MAX:]
    level = 0
    for at in range(len(tail) - 1, -1, -1):
        byte = tail[at]
        level += (byte == 0x29) - (byte == 0x28)
        if level == 0:
            break
    start = len(rest) - len(tail) + at
    if level != 0 or (start > 0 and rest[start - 1] != 0x20):
        start = rest.rfind(b" (") + 1
    return (rest[:start].rstrip(), rest[start + 1 : -1]) if rest[start : start + 1] == b"(" else (rest, b"")


def _shorten(text: bytes, limit: int) -> tuple[bytes, bool]:
    """Cut with a digest of the whole, so that two long names that begin alike stay two."""
    if len(text) <= limit:
        return text, False
    digest = hashlib.blake2b(text, digest_size=6).hexdigest().encode()
    return text[: limit - 16].decode("utf-8", "ignore").encode() + b"..." + digest, True


def frame_kind(name: str, module: str, address: int) -> FrameKind:
    """What a frame is, from its name, its module and its address."""
    if name in ("", "[unknown]"):
        return FrameKind.UNKNOWN
    if _JIT.search(module):
        return FrameKind.JIT
    bracketed = module.startswith("[") and module not in _USER_BRACKETS
    kernel = (
        bracketed
        or _KERNEL_FILE.search(module) is not None
        or (address >= _KERNEL_HALF and module != "[vsyscall]")
    )
    if kernel:
        return FrameKind.IDLE if name in IDLE_FUNCTIONS else FrameKind.KERNEL
    return FrameKind.USER

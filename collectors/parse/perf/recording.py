"""Where the stacks of a recording are: in the text that perf printed on the host, or in perf.data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from collectors.contract import ClockKind, Parsed, Part, ProfileSource, Sentence, UsedModule
from collectors.parse.perf import perf_data, perf_report
from collectors.profiles.limits import ImportRefusedError

#: Modules with less of a recording than the first ones are not listed.
MAX_MODULES = 200
MAX_BYTES = 256 << 20
Kind = Literal["on_cpu", "page_faults", "off_cpu", "wall_time", "block_io", "futex"]
_NS = frozenset({"off_cpu", "wall_time", "block_io", "futex"})
_PIDS = re.compile(rb"^pids((?: \d{1,9}){1,512})$", re.MULTILINE)
_KERNEL = re.compile(rb"^kernel ([0-9a-f-]{36} [0-9]{1,10} [0-9]{1,10})$", re.MULTILINE)


def find_stacks(kind: Kind, parts: Mapping[str, Part], clock: ClockKind | None) -> ProfileSource | None:
    """Return where the stacks are, or None if they are nowhere.

    perf.data is read directly if the host left it to the server to name functions: then it has no text.
    """
    text, data = parts.get("script.txt"), parts.get("perf.data")
    raw_part = "perf.data" if data is not None else None
    if text is not None and text.size:
        return ProfileSource(kind, "perf_script", "script.txt", "samples", clock, raw_part)
    status = _read_status(parts)
    kernel = read_kernel_key(status)
    if data is None or not kernel:
        return None
    pids = _PIDS.search(status)
    return ProfileSource(
        kind=kind,
        reader="perf_data",
        part="perf.data",
        unit="ns" if kind in _NS else "samples",
        clock=clock,
        raw_part=raw_part,
        kernel=kernel,
        modules=list_used_modules(data),
        pids=tuple(int(pid) for pid in pids[1].split()) if pids else (),
    )


def parse_events(kind: Kind, parts: Mapping[str, Part]) -> Parsed:
    """Parse what `collectors.shell.perf_events` recorded. Without any event, the build of the profile reports why."""
    reported = perf_report.parse_perf_report(parts)
    profile = find_stacks(kind, parts, reported.clock)
    if profile is None:
        missing = Sentence("warning.part_missing", {"part": "perf.data"})
        return Parsed(facts=reported.facts, warnings=(*reported.warnings, missing), readable=False)
    return Parsed(profiles=(profile,), facts=reported.facts, warnings=reported.warnings)


def read_kernel_key(status: bytes) -> str:
    """Return the key of the symbols of the kernel: boot ID and checksum of the names of its modules; "" if unknown."""
    match = _KERNEL.search(status)
    return match[1].decode("ascii") if match else ""


def _read_status(parts: Mapping[str, Part]) -> bytes:
    status = parts.get("status.txt")
    return status.read(8192) if status is not None else b""


def list_used_modules(data: Part) -> tuple[UsedModule, ...]:
    """Return the modules with most of a recording; none if it cannot be read: the build of the profile reports why."""
    if not perf_data.is_available() or data.size > MAX_BYTES:
        return ()
    try:
        modules = perf_data.list_modules(data.read(MAX_BYTES)).modules
    except ImportRefusedError:
        return ()
    return tuple(sorted(modules, key=lambda module: -module.samples)[:MAX_MODULES])

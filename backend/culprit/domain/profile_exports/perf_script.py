"""A view as text of `perf script`, which most tools for profiles read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from collectors.profiles.limits import to_printable
from collectors.profiles.trie import INLINED, FrameKind
from culprit.domain.profile_exports.rows import ExportError, ExportRows
from culprit.domain.profiles.stacks import ProfileView

#: Placeholder addresses, because addresses are not stored. Readers treat the upper half as kernel addresses.
_KERNEL_ADDRESS, _USER_ADDRESS = "ffffffff81000000", "1000"
_KERNEL_KINDS = (FrameKind.KERNEL, FrameKind.IDLE)
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_NS = 10**9


def write_perf_script(view: ProfileView) -> Iterator[str]:
    """Return a block per sample, in order of time: task, CPU, time, weight and event, then frames, innermost first.

    Raises ExportError for weights other than one sample: readers count blocks.
    """
    rows = ExportRows(view)
    if view.profile.table.unit != "samples" or (rows.weight != 1).any():
        raise ExportError("profile.export_needs_samples")
    return _write_blocks(rows)


def _write_blocks(rows: ExportRows) -> Iterator[str]:
    view, table = rows.view, rows.table
    comms = [to_printable(comm) for comm in table.comms.all()]
    names, modules = view.profile.names, table.frames.strings.all()
    lines = [
        _format_frame(names[frame], modules[table.frames.module[frame]], int(kind), int(flags))
        for frame, (kind, flags) in enumerate(zip(table.frames.kind, table.frames.flags, strict=True))
    ]
    events = [event.replace(" ", "_") or "samples" for event in table.events]
    event_of = table.event[view.rows]
    blocks: dict[int, str] = {}
    for row in np.argsort(rows.t_ns, kind="stable").tolist():
        stack, cpu, t_ns = int(rows.stack[row]), int(rows.cpu[row]), int(rows.t_ns[row])
        if stack not in blocks:
            blocks[stack] = "".join(lines[frame] for frame in reversed(rows.list_path(stack)))
        where = f" [{cpu:03d}]" if cpu >= 0 else ""
        when = f" {t_ns // _NS}.{t_ns % _NS:09d}:" if table.has_time else ""
        task = f"{comms[rows.comm[row]] or ':-1'} {rows.pid[row]}/{rows.tid[row]}"
        yield f"{task}{where}{when} 1 {events[event_of[row]]}: \n{blocks[stack]}\n"


def _format_frame(name: str, module: str, kind: int, flags: int) -> str:
    address = _KERNEL_ADDRESS if kind in _KERNEL_KINDS else _USER_ADDRESS
    # Readers strip a suffix that has the form of an offset from a name.
    offset = "+0x0" if _OFFSET.search(name) else ""
    suffix = " (inlined)" if flags & INLINED else f" ({to_printable(module) or '[unknown]'})"
    return f"\t{address:>16} {to_printable(name)}{offset}{suffix}\n"

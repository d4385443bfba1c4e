"""A view as pprof: gzip of a protobuf message, a sample for each stack of each thread on each CPU, without times.

Source: proto/profile.proto of google/pprof. Labels are those of perf_data_converter.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from collectors.parse.profile_formats.pprof import COMM, CPU, PID, TID
from collectors.profiles.limits import to_printable
from collectors.profiles.trie import INLINED
from culprit.domain.profile_exports.rows import ExportRows
from culprit.domain.profiles.stacks import ProfileView

_TYPES = {
    "samples": ("samples", "count"),
    "ns": ("time", "nanoseconds"),
    "bytes": ("space", "bytes"),
    "count": ("objects", "count"),
}
_PIECE = 256 << 10


def write_pprof(view: ProfileView) -> Iterator[bytes]:
    """Yield the packed file."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    pending = bytearray()
    for message in _Writer(view).list_messages():
        pending += message
        if len(pending) > _PIECE:
            yield packer.compress(bytes(pending))
            pending.clear()
    yield packer.compress(bytes(pending)) + packer.flush()


def _encode_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode_number(field: int, value: int) -> bytes:
    return _encode_varint(field << 3) + _encode_varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _encode_varint(field << 3 | 2) + _encode_varint(len(value)) + value


class _Writer:
    def __init__(self, view: ProfileView) -> None:
        self._view, self._rows = view, ExportRows(view)
        self._strings: dict[str, int] = {"": 0}
        self._locations: dict[tuple[int, ...], int] = {}  # frames, innermost first → id

    def _text(self, text: str) -> int:
        return self._strings.setdefault(to_printable(text), len(self._strings))

    def list_messages(self) -> Iterator[bytes]:
        """Yield the fields of the profile; the table of strings comes last, when it is complete."""
        table = self._view.profile.table
        name, unit = _TYPES[table.unit]
        event = self._event_name()
        if table.unit != "samples":
            name = event or name
        yield _bytes(1, _encode_number(1, self._text(name)) + _encode_number(2, self._text(unit)))
        if event:
            yield _bytes(11, _encode_number(1, self._text(event)) + _encode_number(2, self._text(unit)))
        yield from self._list_samples()
        yield from self._list_locations()
        for text in self._strings:
            yield _bytes(6, text.encode("utf-8", "replace"))
        if table.has_time and len(self._rows.t_ns):
            first, last = int(self._rows.t_ns.min()), int(self._rows.t_ns.max())
            yield _encode_number(9, first) + _encode_number(10, last - first)

    def _event_name(self) -> str:
        table = self._view.profile.table
        names = {table.events[event] for event in np.unique(table.event[self._view.rows]).tolist()}
        name = names.pop() if len(names) == 1 else ""
        return "" if table.unit == "count" and name.lower() in {"samples", "sample"} else name

    def _list_samples(self) -> Iterator[bytes]:
        rows = self._rows
        if not len(rows.stack):
            return
        columns = np.stack([rows.stack, rows.pid, rows.tid, rows.comm, rows.cpu])
        order = np.lexsort(columns[::-1])
        columns = columns[:, order]
        starts = np.flatnonzero(np.r_[True, (columns[:, 1:] != columns[:, :-1]).any(axis=0)])
        weights = np.add.reduceat(rows.weight[order], starts).tolist()
        stacks = self._pack_stacks()
        comms = rows.table.comms.all()
        labels: dict[tuple[int, ...], bytes] = {}
        for (node, *task), weight in zip(columns[:, starts].T.tolist(), weights, strict=True):
            if weight:
                key = tuple(task)
                if key not in labels:
                    labels[key] = self._pack_labels(key, comms)
                packed = stacks[node]
                yield _bytes(
                    2,
                    (_bytes(1, packed) if packed else b"") + _bytes(2, _encode_varint(weight)) + labels[key],
                )

    def _pack_labels(self, task: tuple[int, ...], comms: list[str]) -> bytes:
        pid, tid, comm, cpu = task
        # Labels are text, because pprof treats the number 0 as no label.
        words = {PID: pid, TID: tid, CPU: cpu}
        texts = {key: str(value) for key, value in words.items() if value >= 0} | {COMM: comms[comm]}
        return b"".join(
            _bytes(3, _encode_number(1, self._text(key)) + _encode_number(2, self._text(text)))
            for key, text in texts.items()
            if text
        )

    def _pack_stacks(self) -> dict[int, bytes]:
        """Return node → ids of its locations, innermost first. Inlined calls share the location of their caller."""
        trie, flags = self._rows.table.trie, self._rows.table.frames.flags
        lines: dict[int, tuple[int, ...]] = {}
        outer: dict[int, int] = {}  # node → the node that calls its location
        packed: dict[int, bytes] = {}
        frames, parents = trie.frame.tolist(), trie.parent.tolist()
        needed = set(np.unique(self._rows.stack).tolist())
        for node in self._rows.list_nodes():
            parent, frame = parents[node], frames[node]
            lines[node], outer[node] = (frame,), parent
            if flags[frame] & INLINED and parent in lines:
                lines[node], outer[node] = (frame, *lines[parent]), outer[parent]
            if node in needed:
                packed[node] = self._pack_stack(node, lines, outer)
        return packed | dict.fromkeys(needed - packed.keys(), b"")

    def _pack_stack(self, node: int, lines: dict[int, tuple[int, ...]], outer: dict[int, int]) -> bytes:
        ids = []
        while node in lines:
            location = self._locations.setdefault(lines[node], len(self._locations) + 1)
            ids.append(_encode_varint(location))
            node = outer[node]
        return b"".join(ids)

    def _list_locations(self) -> Iterator[bytes]:
        """Yield mappings, functions and locations."""
        profile = self._view.profile
        modules = {name: 0 for name in (profile.modules[lines[-1]] for lines in self._locations) if name}
        for number, module in enumerate(modules, start=1):
            modules[module] = number
            yield _bytes(
                3, _encode_number(1, number) + _encode_number(5, self._text(module)) + _encode_number(7, 1)
            )
        for frame in sorted({frame for lines in self._locations for frame in lines}):
            name = self._text(profile.names[frame])
            yield _bytes(5, _encode_number(1, frame + 1) + _encode_number(2, name) + _encode_number(3, name))
        for lines, number in self._locations.items():
            mapping = modules.get(profile.modules[lines[-1]], 0)
            packed = b"".join(_bytes(4, _encode_number(1, frame + 1)) for frame in lines)
            yield _bytes(4, _encode_number(1, number) + _encode_number(2, mapping) + packed)

"""pprof (Go, Java, Python, eBPF profilers, continuous profilers) → a table for each type of value.

Source: proto/profile.proto of google/pprof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.parse.profile_formats.json_source import Place, read_whole
from collectors.parse.profile_formats.protobuf_fields import (
    Fields,
    read_fields,
    to_numbers,
    to_signed,
    to_submessage,
)
from collectors.parse.profile_formats.table_builder import NO_TIME, TableBuilder, Task
from collectors.profiles.limits import DEFAULT, Readable, ReaderLimits
from collectors.profiles.samples import SampleTable, Unit
from collectors.profiles.trie import INLINED, FrameKind

FORMAT = "pprof"
_TIME_UNITS = {
    "nanoseconds": 1, "ns": 1, "microseconds": 1_000, "us": 1_000, "milliseconds": 1_000_000, "ms": 1_000_000,
    "seconds": 1_000_000_000, "s": 1_000_000_000,
}  # fmt: skip
_BYTE_UNITS = {
    "bytes": 1,
    "byte": 1,
    "kilobytes": 1 << 10,
    "kb": 1 << 10,
    "megabytes": 1 << 20,
    "mb": 1 << 20,
}
PID, TID, COMM, CPU, TIME = "pid", "tid", "thread_comm", "cpu", "timestamp_ns"
"""Labels of a sample, as perf_data_converter names them."""

_COMM_KEYS = (COMM, "thread_name", "thread", "comm")


def parse_pprof(source: Readable, limits: ReaderLimits = DEFAULT) -> list[SampleTable]:
    """Read all of `source`, unpacked. The default type of the file comes first."""
    place = Place(FORMAT)
    with place.check_shape():
        return _ProfileReader(read_whole(source), limits, place).read_tables()


@dataclass(slots=True)
class _Mapping:
    start: int
    offset: int
    name: str


@dataclass(slots=True)
class _Labels:
    """What the labels of a sample state about it."""

    pid: int = -1
    tid: int = -1
    cpu: int = -1
    t_ns: int = NO_TIME
    comms: dict[str, str] = field(default_factory=dict)

    @property
    def comm(self) -> str:
        return next((self.comms[key] for key in _COMM_KEYS if self.comms.get(key)), "")


class _ProfileReader:
    def __init__(self, data: bytes, limits: ReaderLimits, place: Place) -> None:
        self._builder, self._place = TableBuilder(limits), place
        place.at = "Profile"
        self._types: list[Fields] = []
        self._samples: list[bytes] = []
        mappings: list[bytes] = []
        locations: list[bytes] = []
        functions: list[bytes] = []
        self._strings: list[str] = []
        self._default = 0
        kept = {2: self._samples, 3: mappings, 4: locations, 5: functions}
        for number, value in read_fields(data):
            if number in kept:
                kept[number].append(to_submessage(value))
            elif number == 1:
                self._types.append(Fields(to_submessage(value)))
            elif number == 6:
                self._strings.append(to_submessage(value).decode("utf-8", "replace"))
            elif number == 14 and isinstance(value, int):
                self._default = value
        place.at = "Mapping"
        self._mappings = dict(self._read_mapping(Fields(item)) for item in mappings)
        place.at = "Function"
        self._functions = dict(self._read_function(Fields(item)) for item in functions)
        place.at = "Location"
        self._locations = dict(self._read_location(item) for item in locations)

    def _read_mapping(self, item: Fields) -> tuple[int, _Mapping]:
        return item.number(1), _Mapping(item.number(2), item.number(4), self._text(item.number(5)))

    def _read_function(self, item: Fields) -> tuple[int, tuple[str, str]]:
        name = self._text(item.number(2)) or self._text(item.number(3))
        return item.number(1), (name, self._text(item.number(4)))

    def _text(self, index: int) -> str:
        return self._strings[index]

    def _read_location(self, data: bytes) -> tuple[int, list[int]]:
        """Return the id of a location and its frames, outermost first: calls that were inlined come last."""
        item, lines = Fields(data), []
        mapping = self._mappings.get(item.number(2))
        for number, value in read_fields(data):
            if number == 4:
                lines.append(self._functions[Fields(to_submessage(value)).number(1)])
        frames = []
        for depth, (name, file) in enumerate(reversed(lines)):
            module = mapping.name if mapping and mapping.name else file
            frames.append(self._builder.frame(name, module, flags=INLINED if depth else 0))
        if not frames:
            frames.append(self._name_address(item.number(3), mapping))
        return item.number(1), frames

    def _name_address(self, address: int, mapping: _Mapping | None) -> int:
        """Return the frame of an address without a symbol: its module and offset."""
        if mapping is None or not mapping.name:
            return self._builder.frame(f"0x{address:x}", "", FrameKind.UNKNOWN)
        offset = max(address - mapping.start, 0) + mapping.offset
        name = f"{mapping.name.rpartition('/')[2]}+0x{offset:x}"
        return self._builder.frame(name, mapping.name, FrameKind.UNKNOWN)

    def read_tables(self) -> list[SampleTable]:
        """Return the tables."""
        self._place.at = "ValueType"
        events = list(self._list_events())
        nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        for index, data in enumerate(self._samples):
            self._place.at = f"Sample {index}"
            stack: list[int] = []
            values: list[int] = []
            labels = _Labels()
            for number, value in read_fields(data):
                if number == 1:
                    stack += to_numbers(value)
                elif number == 2:
                    values += to_numbers(value)
                elif number == 3:
                    self._read_label(Fields(to_submessage(value)), labels)
            task = self._builder.task(labels.comm, labels.pid, labels.tid)
            key = task.root, tuple(stack)
            node = nodes.get(key)
            if node is None:
                node = nodes[key] = self._find_node(task, stack)
            for (event, scale), value in zip(events, values, strict=True):
                weight = to_signed(value) * scale
                self._builder.add_sample(event, labels.t_ns, weight, task, node, labels.cpu)
        tables = self._builder.finish()
        default = self._text(self._default)
        return sorted(tables, key=lambda table: table.events[0] != default)

    def _find_node(self, task: Task, stack: list[int]) -> int:
        frames = [frame for location in reversed(stack) for frame in self._locations[location]]
        return self._builder.extend(task.root, frames)

    def _list_events(self) -> Iterator[tuple[int, int]]:
        """Yield the event and the factor of each type of value."""
        for item in self._types:
            name, word = self._text(item.number(1)), self._text(item.number(2)).lower()
            unit: Unit
            if word in _TIME_UNITS:
                unit, scale = "ns", _TIME_UNITS[word]
            elif word in _BYTE_UNITS:
                unit, scale = "bytes", _BYTE_UNITS[word]
            else:
                unit, scale = "samples" if name.lower() in {"samples", "sample"} else "count", 1
            yield self._builder.event_id(name, unit), scale

    def _read_label(self, item: Fields, labels: _Labels) -> None:
        key = self._text(item.number(1))
        text, number = self._text(item.number(2)), to_signed(item.number(3))
        if text.isdecimal() and len(text) < 20 and key in {PID, TID, CPU, TIME}:
            number = int(text)
        if key == PID:
            labels.pid = number
        elif key == TID:
            labels.tid = number
        elif key == CPU:
            labels.cpu = number
        elif key == TIME:
            labels.t_ns = number
        elif key in _COMM_KEYS:
            labels.comms[key] = text

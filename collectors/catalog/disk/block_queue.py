"""Queue settings of each block device, the devices below it, and requests in flight."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Sentence,
    Series,
    Table,
    Text,
    Tier,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.tokens import NAN, parse_counter, to_text

_MAX_BYTES = 32 << 20
_MAX_DEVICES = 500
_SECTOR_BYTES = 512
_PATH = re.compile(r"/sys/block/([^/]{1,64})/(.{1,120})")
_STACKED = re.compile(r"slaves/([^/]{1,64})/dev")
_PARTITION = re.compile(r"([^/]{1,64})/partition")
_NUMBERS = ("read_ahead_kb", "nr_requests", "rotational", "wbt_lat_usec")
_SETTINGS = (
    "/sys/block/*/size",
    *(f"/sys/block/*/queue/{name}" for name in (*_NUMBERS, "scheduler")),
    "/sys/block/*/slaves/*/dev",
    "/sys/block/*/*/partition",
    "/sys/block/*/mq/*/nr_tags",
    "/sys/block/*/dm/name",
    "/sys/block/loop*/loop/backing_file",
)
_COLUMNS = (
    Column("dev"),
    Column("kind"),
    Column("name"),
    Column("size", "kb"),
    Column("read_ahead_kb", "kb"),
    Column("scheduler"),
    Column("rotational"),
    Column("nr_requests"),
    Column("wbt_lat_us", "us"),
    Column("hw_queues"),
    Column("slaves"),
    Column("holders"),
    Column("leaf"),
    Column("backing_file"),
    Column("inflight_max"),
)
#: By the prefix of the kernel's own name; everything else is a disk.
_KINDS = {
    "dm-": "dm",
    "md": "md",
    "loop": "loop",
    "zram": "zram",
    "ram": "ram",
    "nbd": "network",
    "rbd": "network",
}

Row = tuple[str | int | float | None, ...]
Device = dict[str, Sequence[Snapshot]]
Stacked = tuple[Sequence[str], Sequence[str]]


def parse_block_queue(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each device that has a size, and its requests in flight over time.

    A leaf is stacked on nothing: rules judge leaves, because a mapped device counts each request again.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    devices = _list_devices(samples)
    if not devices:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    below, above = _find_stacking(devices)
    rows: list[Row] = []
    lines: list[int] = []
    series: list[Series] = []
    for dev in sorted(devices):
        files = devices[dev]
        size_kb = _read_number(files, "size") * _SECTOR_BYTES / 1024
        if not size_kb > 0:
            continue
        inflight = _read_inflight(files.get("inflight", ()))
        rows.append((dev, *_build_row(dev, files, size_kb, (below[dev], above[dev]), inflight)))
        lines.append(_find_line(files))
        series += _build_series(context, dev, files.get("inflight", ()), inflight)
    table = Table("block_devices", _COLUMNS, tuple(rows), sampled.PART, tuple(lines))
    return Parsed(series=tuple(series), tables=(table,) if rows else (), warnings=samples.warnings)


def _list_devices(samples: Samples) -> dict[str, Device]:
    devices: dict[str, Device] = {}
    for match, snapshots in samples.matching(_PATH):
        if match[1] in devices or len(devices) < _MAX_DEVICES:
            devices.setdefault(match[1], {})[match[2]] = snapshots
    return devices


def _find_stacking(devices: Mapping[str, Device]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each device, those directly below it and those directly above it; a partition counts as its disk."""
    disk_of = {
        match[1]: dev
        for dev, files in devices.items()
        for name in files
        if (match := _PARTITION.fullmatch(name))
    }
    below: dict[str, list[str]] = defaultdict(list)
    above: dict[str, list[str]] = defaultdict(list)
    for dev, files in devices.items():
        for name in sorted(files):
            if match := _STACKED.fullmatch(name):
                below[dev].append(match[1])
                above[disk_of.get(match[1], match[1])].append(dev)
    return below, above


def _build_row(dev: str, files: Device, size_kb: float, stacked: Stacked, inflight: Sequence[float]) -> Row:
    below, above = stacked
    numbers = {name: _read_cell(_read_number(files, f"queue/{name}")) for name in _NUMBERS}
    queues = sum(re.fullmatch(r"mq/\d{1,4}/nr_tags", name) is not None for name in files)
    kind = next((kind for prefix, kind in _KINDS.items() if dev.startswith(prefix)), "disk")
    known = [value for value in inflight if not isnan(value)]
    return (
        *(kind, _read_text(files, "dm/name"), size_kb, numbers["read_ahead_kb"], _read_scheduler(files)),
        *(numbers["rotational"], numbers["nr_requests"], numbers["wbt_lat_usec"], queues or None),
        *(" ".join(below[:20]), " ".join(sorted(set(above))[:20]), int(not below and kind != "loop")),
        *(_read_text(files, "loop/backing_file"), max(known) if known else None),
    )


def _read_scheduler(files: Device) -> str:
    """`none [mq-deadline] kyber` → `mq-deadline`."""
    text = _read_text(files, "queue/scheduler")
    chosen = re.search(r"\[([^\]]{1,40})\]", text)
    return chosen[1] if chosen else text


def _read_text(files: Device, name: str) -> str:
    snapshots = files.get(name, ())
    return to_text(snapshots[-1].body.split(b"\n")[0].strip(), 300) if snapshots else ""


def _read_number(files: Device, name: str) -> float:
    snapshots = files.get(name, ())
    return parse_counter(snapshots[-1].body.strip()) if snapshots else NAN


def _read_cell(value: float) -> float | None:
    return None if isnan(value) else value


def _find_line(files: Device) -> int:
    for name in ("queue/read_ahead_kb", "queue/scheduler", "inflight", "size"):
        if snapshots := files.get(name):
            return snapshots[-1].line
    return 1


def _read_inflight(snapshots: Sequence[Snapshot]) -> list[float]:
    """Reads and writes that the device has not answered, together."""
    totals = []
    for snapshot in snapshots:
        tokens = snapshot.body.split(None, 2)
        totals.append(parse_counter(tokens[0]) + parse_counter(tokens[1]) if len(tokens) == 2 else NAN)
    return totals


def _build_series(
    context: Context, dev: str, snapshots: Sequence[Snapshot], inflight: Sequence[float]
) -> list[Series]:
    boot_ns = np.array([snapshot.boot_ns for snapshot in snapshots], np.int64)
    lines = np.array([min(snapshot.line, 2**31 - 1) for snapshot in snapshots], np.int32)
    values = np.array(inflight, np.float64).reshape(-1, 1)
    return sampled.build_series(context, "disk.inflight", boot_ns, values, lines=lines, labels={"dev": dev})


COLLECTOR = Collector(
    id="block_queue",
    title=Text("Block device queues", "块设备队列"),
    why=Text(
        "Read-ahead, scheduler and stacking of each device, and how many requests it has not answered.",
        "每个设备的预读、调度器与层叠关系，以及尚未完成的请求数。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "sys",
            Needs(files=("/sys/block",), remedy="mount -t sysfs sysfs /sys"),
            files=("/sys/block/*/inflight", *_SETTINGS),
            at_ends=_SETTINGS,
        ),
    ),
    parse=parse_block_queue,
    cost=Cost(
        0.2, 6_000, Text("A few small files of each device a second.", "每秒读取每个设备的几个小文件。")
    ),
    yields=("disk.inflight",),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

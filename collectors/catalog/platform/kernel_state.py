"""Settings and states of the kernel that change how everything else runs: arrays, tracing, CPUs, queues of cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Table,
    Text,
    Tier,
)
from collectors.parse.proc import id_list, sampled
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.tokens import parse_decimal, to_text

_MAX_BYTES = 4 << 20
_MAX_ROWS = 500
_CPU = "/sys/devices/system/cpu"
_CLOCK = "/sys/devices/system/clocksource/clocksource0"
_TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_ARRAY = re.compile(rb"(md[^\s:]{0,30}) : (\S+)")
_ACTION = re.compile(rb"(resync|recovery|reshape|check)\s*=\s*(?:([\d.]+)%|(\w+))")
_SPEED = re.compile(rb"speed=(\d+)K/sec")
_QUEUE = re.compile(r"/sys/class/net/([^/]{1,64})/queues/rx-\d{1,4}/rps_cpus")
_SESSION = re.compile(r"/sys/class/iscsi_session/([^/]{1,64})/state")
_DEVICE = re.compile(r"/sys/block/([^/]{1,64})/device/state")

_ARRAYS = (
    Column("array"),
    Column("state"),
    Column("action"),
    Column("done_pct", "pct"),
    Column("speed", "kb_per_s"),
)
_SESSIONS = (Column("kind"), Column("name"), Column("state"), Column("failed"))
_QUEUES = (Column("dev"), Column("rx_queues"), Column("rps_queues"))
_TRACES = (Column("what"), Column("setting"), Column("active"))
_CPUS = (Column("present"), Column("online"), Column("isolated"), Column("isolated_list"))
_CLOCKS = (Column("current"), Column("available"), Column("needs_system_call"))

#: Clock sources without a mode for the vDSO: drivers/clocksource/acpi_pm.c, arch/x86/kernel/hpet.c, time/jiffies.c.
_WITHOUT_VDSO = frozenset(("acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit", "tsc-early"))
#: A path whose device answers again is `running`; what a transport lost is not (scsi_sysfs.c, scsi_transport_iscsi.c).
_LOST = frozenset(("FAILED", "FREE", "blocked", "transport-offline", "offline", "quiesce"))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of one table and their lines."""

    rows: list[tuple[str | int | float | None, ...]]
    lines: list[int]

    def add(self, line: int, *cells: str | int | float | None) -> None:
        if len(self.rows) < _MAX_ROWS:
            self.rows.append(cells)
            self.lines.append(line)

    def build(self, kind: str, columns: tuple[Column, ...]) -> Iterator[Table]:
        if self.rows:
            yield Table(kind, columns, tuple(self.rows), sampled.PART, tuple(self.lines))


def parse_kernel_state(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Tables of what there is; a file that the kernel lacks gives no row.

    Tracing is judged by the first reading, because our own deeper collectors trace later.
    """
    del context
    samples = sampled.read_samples(parts, _MAX_BYTES)
    if not samples.by_path:
        return Parsed(warnings=samples.warnings, readable=False)
    tables = (
        *_read_arrays(samples).build("arrays", _ARRAYS),
        *_read_sessions(samples).build("block_sessions", _SESSIONS),
        *_read_queues(samples).build("rx_queues", _QUEUES),
        *_read_tracing(samples).build("kernel_tracing", _TRACES),
        *_read_cpus(samples).build("cpu_sets", _CPUS),
        *_read_clock(samples).build("clock_sources", _CLOCKS),
    )
    return Parsed(tables=tables, warnings=samples.warnings)


def _read_arrays(samples: Samples) -> _Rows:
    """Arrays of /proc/mdstat: drivers/md/md.c, status_resync."""
    rows = _Rows([], [])
    for snapshot in samples.of("/proc/mdstat")[-1:]:
        name, state, at = "", "", 0
        for offset, line in enumerate(snapshot.lines()[:2_000]):
            if match := _ARRAY.match(line):
                name, state, at = to_text(match[1], 40), to_text(match[2], 40), snapshot.line + offset
                rows.add(at, name, state, "idle", None, None)
            elif name and (action := _ACTION.search(line)):
                speed = _SPEED.search(line)
                done = parse_decimal(action[2]) if action[2] else None
                kind = " ".join(to_text(word, 20) for word in (action[1], action[3]) if word)
                rows.rows.pop()
                rows.lines.pop()
                rows.add(snapshot.line + offset, name, state, kind, done, float(speed[1]) if speed else None)
    return rows


def _read_sessions(samples: Samples) -> _Rows:
    rows = _Rows([], [])
    for pattern, kind in ((_SESSION, "iscsi"), (_DEVICE, "device")):
        for match, snapshots in samples.matching(pattern):
            state = _read_text(snapshots[-1])
            rows.add(snapshots[-1].line, kind, match[1], state, int(state in _LOST))
    return rows


def _read_queues(samples: Samples) -> _Rows:
    """Receive queues of each card, and how many of them hand packets on to other CPUs (RPS)."""
    counted: dict[str, list[int]] = {}
    for match, snapshots in samples.matching(_QUEUE):
        queue = counted.setdefault(match[1], [0, 0, snapshots[-1].line])
        queue[0] += 1
        queue[1] += bool(_read_text(snapshots[-1]).strip("0,"))
    rows = _Rows([], [])
    for dev, (queues, rps, line) in counted.items():
        rows.add(line, dev, queues, rps)
    return rows


def _read_tracing(samples: Samples) -> _Rows:
    rows = _Rows([], [])
    for folder in _TRACING:
        reads = {
            name: samples.of(f"{folder}/{name}")[:1] for name in ("tracing_on", "current_tracer", "set_event")
        }
        on = any(_read_text(item) == "1" for item in reads["tracing_on"])
        for item in reads["current_tracer"]:
            rows.add(item.line, "tracer", _read_text(item), int(on and _read_text(item) != "nop"))
        for item in reads["set_event"]:
            events = [to_text(line, 60) for line in item.lines()[:2_000] if line.strip()]
            listed = ", ".join(events[:3]) + (f" (+{len(events) - 3})" if len(events) > 3 else "")
            rows.add(item.line, "events", listed, int(on and bool(events)))
        if rows.rows:
            break
    return rows


def _read_cpus(samples: Samples) -> _Rows:
    rows = _Rows([], [])
    files = {name: samples.of(f"{_CPU}/{name}")[-1:] for name in ("present", "online", "isolated")}
    counts = {
        name: len(id_list.parse_ids(item.body)) for name, snapshots in files.items() for item in snapshots
    }
    if "online" in counts:
        isolated = _read_text(files["isolated"][0]) if files["isolated"] else ""
        rows.add(
            files["online"][0].line,
            counts.get("present"),
            counts["online"],
            counts.get("isolated", 0),
            isolated,
        )
    return rows


def _read_clock(samples: Samples) -> _Rows:
    rows = _Rows([], [])
    available = next((_read_text(item) for item in samples.of(f"{_CLOCK}/available_clocksource")[-1:]), "")
    for item in samples.of(f"{_CLOCK}/current_clocksource")[-1:]:
        current = _read_text(item)
        rows.add(item.line, current, available, int(current in _WITHOUT_VDSO))
    return rows


def _read_text(snapshot: Snapshot) -> str:
    return to_text(snapshot.body.strip(), 200)


COLLECTOR = Collector(
    id="kernel_state",
    title=Text("State of the kernel", "内核状态"),
    why=Text(
        "Arrays that rebuild, lost sessions of network disks, tracing that was left on, CPUs that are off or isolated.",
        "正在重建的阵列、断开的网络磁盘会话、遗留的跟踪、离线或隔离的 CPU。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "sysfs",
            Needs(files=(f"{_CPU}/online",), remedy="mount -t sysfs sysfs /sys"),
            files=(
                "/proc/mdstat",
                "/sys/class/iscsi_session/*/state",
                "/sys/block/*/device/state",
                "/sys/class/net/*/queues/rx-*/rps_cpus",
                *(f"{_TRACING[0]}/{name}" for name in ("tracing_on", "current_tracer", "set_event")),
                *(f"{_CPU}/{name}" for name in ("present", "online", "isolated")),
                *(f"{_CLOCK}/{name}_clocksource" for name in ("current", "available")),
            ),
            once=True,
        ),
    ),
    parse=parse_kernel_state,
    cost=Cost(0.02, 400, Text("Small files of sysfs, read twice.", "sysfs 的小文件，读取两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

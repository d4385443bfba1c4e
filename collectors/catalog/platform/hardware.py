"""What the hardware and its settings do to speed: clock rates, heat, memory errors, mitigations, huge pages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

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
from collectors.metrics.row import Metric, TrackStyle
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Samples, Snapshot
from collectors.parse.tables import rates
from collectors.parse.tables.tokens import NAN, parse_amount, parse_counter, to_text

_MAX_BYTES = 32 << 20
_MAX_ROWS = 4_000
_MAX_CPUS = 4_096
_CPU = "/sys/devices/system/cpu"
_CPUINFO = "/proc/cpuinfo"
_FREQUENCY = re.compile(rf"{_CPU}/cpu(\d{{1,5}})/cpufreq/scaling_cur_freq")
_THROTTLES = re.compile(rf"{_CPU}/cpu(\d{{1,5}})/thermal_throttle/(core|package)_throttle_count")
_COLUMNS = (Column("name"), Column("value"), Column("number"), Column("delta"))
#: cpuinfo's facts that are the same on every CPU, so the first CPU is representative.
_ONCE = ("model name", "microcode", "bugs")


def parse_hardware(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `hardware` (name, value, number, delta over the window), clock rates, throttle events.

    Frequencies are cpufreq's where it is there (kHz), or else those of /proc/cpuinfo (MHz).
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    rows = list(_build_rows(samples))[:_MAX_ROWS]
    series = (*_build_frequencies(samples, context), *_build_throttles(samples, context))
    if not rows and not series:
        warnings = (*samples.warnings, Sentence("warning.too_few_samples"))
        return Parsed(warnings=warnings, readable=False)
    table = Table(
        "hardware", _COLUMNS, tuple(row for _, row in rows), sampled.PART, tuple(line for line, _ in rows)
    )
    return Parsed(series=series, tables=(table,) if rows else (), warnings=samples.warnings)


Row = tuple[str | int | float | None, ...]


def _read_name(path: str) -> str:
    """`/sys/devices/system/cpu/vulnerabilities/l1tf` as `vulnerabilities/l1tf`."""
    for prefix in (
        f"{_CPU}/",
        "/sys/devices/system/edac/mc/",
        "/sys/kernel/mm/",
        "/sys/class/",
        "/sys/devices/",
    ):
        path = path.removeprefix(prefix)
    return path


def _build_rows(samples: Samples) -> Iterator[tuple[int, Row]]:
    for match, snapshots in samples.matching(re.compile(r"(/.{1,300})")):
        path, last = match[1], snapshots[-1]
        if path == _CPUINFO:
            yield from _read_cpuinfo(snapshots[0])
            continue
        text = last.body.strip().split(b"\n")[0]
        now, before = parse_amount(text), parse_amount(snapshots[0].body.strip().split(b"\n")[0])
        known = not math.isnan(now)
        yield (
            last.line,
            (
                *(_read_name(path), to_text(text, 200), now if known else None),
                None if math.isnan(now - before) else now - before,
            ),
        )


def _read_cpuinfo(snapshot: Snapshot) -> Iterator[tuple[int, Row]]:
    seen: set[str] = set()
    for offset, line in enumerate(snapshot.lines()[:200]):
        key, colon, value = line.partition(b":")
        name = to_text(key.strip(), 40)
        if colon and name in _ONCE and name not in seen:
            seen.add(name)
            yield snapshot.line + offset, (f"cpuinfo/{name}", to_text(value.strip(), 200), None, None)


def _parse_megahertz(snapshot: Snapshot) -> Iterator[tuple[str, float, int]]:
    """CPU number and MHz out of /proc/cpuinfo."""
    cpu = ""
    for offset, line in enumerate(snapshot.lines()[: _MAX_CPUS * 40]):
        if line.startswith(b"processor"):
            number = line.partition(b":")[2].strip()
            cpu = str(int(number)) if number.isdigit() and len(number) < 6 else ""
        elif line.startswith(b"cpu MHz") and cpu:
            yield cpu, parse_amount(line.partition(b":")[2].strip()), offset


def _build_frequencies(samples: Samples, context: Context) -> list[Series]:
    by_cpu: dict[str, list[Snapshot]] = {}
    for match, snapshots in samples.matching(_FREQUENCY):
        by_cpu[str(int(match[1]))] = list(snapshots)
    if by_cpu:
        return _align_readings(by_cpu, context)
    readings = sampled.tabulate_readings(samples.of(_CPUINFO), _parse_megahertz, _MAX_CPUS)
    if not readings.names:
        return []
    lines = readings.line_of(readings.names[0])
    return sampled.build_series(
        *(context, "platform.cpu_freq_mhz", readings.boot_ns, readings.values),
        lines=lines, axis="cpu", axis_values=readings.names,
    )  # fmt: skip


def _align_readings(by_cpu: Mapping[str, list[Snapshot]], context: Context) -> list[Series]:
    """One column a CPU; rows are the ticks of the sampler."""
    names = sorted(by_cpu, key=int)[:_MAX_CPUS]
    first: dict[int, Snapshot] = {}
    cells: dict[tuple[int, int], float] = {}
    for column, name in enumerate(names):
        for item in by_cpu[name]:
            first.setdefault(item.tick, item)
            cells[item.tick, column] = parse_counter(item.body.strip()) / 1000.0
    ticks = sorted(first, key=lambda tick: first[tick].boot_ns)
    values = np.full((len(ticks), len(names)), NAN)
    row_of = {tick: row for row, tick in enumerate(ticks)}
    for (tick, column), value in cells.items():
        values[row_of[tick], column] = value
    lines = np.array([first[tick].line for tick in ticks], np.int32)
    boot_ns = np.array([first[tick].boot_ns for tick in ticks], np.int64)
    return sampled.build_series(
        *(context, "platform.cpu_freq_mhz", boot_ns, values),
        lines=lines,
        axis="cpu",
        axis_values=tuple(names),
    )


def _build_throttles(samples: Samples, context: Context) -> list[Series]:
    """Throttle events of all cores and packages together, a second."""
    matching_snapshots: list[Snapshot] = []
    by_tick: dict[int, dict[str, float]] = {}
    for match, snapshots in samples.matching(_THROTTLES):
        for snapshot in snapshots:
            by_tick.setdefault(snapshot.tick, {})[f"{match[2]}{match[1]}"] = parse_counter(
                snapshot.body.strip()
            )
            if len(by_tick) > len(matching_snapshots):
                matching_snapshots.append(snapshot)
    if len(matching_snapshots) < 2:
        return []
    names = sorted({name for row in by_tick.values() for name in row})
    matching_snapshots.sort(key=lambda snapshot: snapshot.boot_ns)
    values = np.array(
        [[by_tick[snapshot.tick].get(name, NAN) for name in names] for snapshot in matching_snapshots]
    )
    times = np.array([snapshot.boot_ns for snapshot in matching_snapshots], np.int64)
    lines = np.array([snapshot.line for snapshot in matching_snapshots], np.int32)
    readings = Readings(times, tuple(names), values, np.zeros(values.shape, np.int32))
    changed = np.nansum(rates.compute_deltas(readings.values), axis=1, keepdims=True)
    per_s = changed / rates.compute_elapsed_s(times)[:, None]
    return sampled.build_series(
        context, "platform.thermal_throttles_per_s", times[1:], per_s, lines=lines[1:]
    )


_METRICS = (
    Metric(
        "platform.cpu_freq_mhz",
        "mhz",
        "gauge",
        (),
        "cpu",
        Text("CPU clock rate", "CPU 频率"),
        Text(
            "Clock rate of each CPU, from cpufreq or /proc/cpuinfo.",
            "各 CPU 的运行频率（cpufreq 或 /proc/cpuinfo）。",
        ),
        TrackStyle("platform", 2100, "heatmap"),
    ),
    Metric(
        "platform.thermal_throttles_per_s",
        "per_s",
        "counter",
        (),
        None,
        Text("Thermal throttling", "过热降频"),
        Text(
            "How often per second cores and packages were throttled because of heat.",
            "每秒因过热而降频的次数（核与封装合计）。",
        ),
        TrackStyle("platform", 2101, "line"),
    ),
)

COLLECTOR = Collector(
    id="hardware",
    title=Text("Hardware", "硬件"),
    why=Text(
        "CPUs that were slowed down by heat or by settings, memory that reports errors, mitigations, huge pages.",
        "因过热或设置而降频的 CPU、报错的内存、漏洞缓解措施与大页设置。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "sysfs",
            Needs(files=("/proc/cpuinfo",), remedy="mount -t proc proc /proc"),
            files=(
                _CPUINFO,
                f"{_CPU}/cpu[0-9]*/cpufreq/scaling_cur_freq",
                f"{_CPU}/cpu[0-9]*/thermal_throttle/*_throttle_count",
                f"{_CPU}/cpu0/cpufreq/cpuinfo_max_freq",
                f"{_CPU}/cpu0/cpufreq/scaling_max_freq",
                f"{_CPU}/cpu0/cpufreq/scaling_governor",
                f"{_CPU}/smt/active",
                f"{_CPU}/vulnerabilities/*",
                "/sys/devices/system/edac/mc/mc[0-9]*/[cu]e_count",
                "/sys/class/hwmon/hwmon[0-9]*/temp[0-9]_input",
                "/sys/kernel/mm/transparent_hugepage/enabled",
                "/sys/kernel/mm/transparent_hugepage/defrag",
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            interval_s=10.0,
        ),
    ),
    parse=parse_hardware,
    cost=Cost(0.05, 3_000, Text("Small files of sysfs, every ten seconds.", "每十秒读取 sysfs 的小文件。")),
    yields=tuple(metric.id for metric in _METRICS),
    metrics=_METRICS,
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)

"""I/O limits of control groups, what was used of them, and how long tasks waited for I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import cgroup_files
from collectors.parse.proc.cgroup_files import CgroupFiles, CgroupSamples
from collectors.parse.tables.tokens import NAN, parse_counter, to_text
from collectors.shell import cgroups

_MAX_BYTES = 16 << 20
_MAX_DEVICES = 64
_COLUMNS = (
    Column("path"),
    Column("dev"),
    Column("limit"),
    Column("limit_per_s", "per_s"),
    Column("used_per_s", "per_s"),
    Column("used_pct", "pct"),
    Column("seconds", "s"),
)
_PRESSURE_COLUMNS = (
    Column("path"),
    Column("resource"),
    Column("some_pct", "pct"),
    Column("full_pct", "pct"),
    Column("seconds", "s"),
)
_RESOURCES = ("cpu", "memory", "io")
_DEVICE = re.compile(rb"device (\d+:\d+) ([\x21-\x7e]{1,64})")


def parse_cgroup_io(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row of `cgroup_io` for each limit of a group and device, one of `cgroup_pressure` for each resource.

    v1 counts a request when the limit lets it pass, v2 when it is sent to the device. A group of v1 is held to its
    own limit alone, so its own requests count; v2 counts those of the groups below with it. Pressure comes from
    the totals in microseconds, which exist for groups of v2 only.
    """
    checks = cgroup_files.parse_cgroup_files(parts, _MAX_BYTES)
    if len(checks.samples) < 2:
        return Parsed(warnings=(*checks.warnings, Sentence("warning.too_few_samples")), readable=False)
    names = _read_device_names(parts)
    limits = [row for path in checks.paths() if path != "/" for row in _build_limits(checks, path, names)]
    pressures = [row for path in checks.paths() if path != "/" for row in _build_pressures(checks, path)]
    tables = (
        Table(
            "cgroup_io", _COLUMNS, tuple(row for row, _ in limits), lines=tuple(line for _, line in limits)
        ),
        Table(
            "cgroup_pressure",
            _PRESSURE_COLUMNS,
            tuple(row for row, _ in pressures),
            lines=tuple(line for _, line in pressures),
        ),
    )
    return Parsed((), tables, warnings=checks.warnings)


Row = tuple[tuple[str | float | None, ...], int]


def _read_device_names(parts: Mapping[str, Part]) -> dict[str, str]:
    part = parts.get("stdout")
    if part is None:
        return {}
    matches = (_DEVICE.fullmatch(line) for line in part.read(_MAX_BYTES).split(b"\n"))
    return {to_text(match[1], 20): to_text(match[2], 64) for match in matches if match}


def _build_limits(checks: CgroupSamples, path: str, names: Mapping[str, str]) -> list[Row]:
    first, last = checks.first(path), checks.last(path)
    rows: list[Row] = []
    for limit, (v1_limit, v2_limit, v1_used, word, v2_used) in cgroups.IO_LIMITS.items():
        for dev, (per_s, line) in list(_read_limits(last, v1_limit, v2_limit).items())[:_MAX_DEVICES]:
            before, after = (_read_used(group, dev, v1_used, word, v2_used) for group in (first, last))
            grown = after - (0.0 if math.isnan(before) else before)
            used = grown / checks.seconds if grown >= 0 and checks.seconds > 0 else None
            share = 100.0 * used / per_s if used is not None and per_s > 0 else None
            rows.append(((path, names.get(dev, dev), limit, per_s, used, share, checks.seconds), line))
    return rows


def _read_limits(group: CgroupFiles, v1: str, v2: str) -> dict[str, tuple[float, int]]:
    """Limit per second and its line, by device; v1 lists only what is limited, v2 calls no limit `max`."""
    limits = {}
    for line, text in group.files.get(v1, ()):
        tokens = text.split()
        if len(tokens) == 2 and not math.isnan(value := parse_counter(tokens[1])):
            limits[to_text(tokens[0], 20)] = (value, line)
    for line, text in group.files.get("io.max", ()):
        dev, *pairs = text.split()
        for pair in pairs:
            name, _, token = pair.partition(b"=")
            if name == v2.encode() and not math.isnan(value := parse_counter(token)):
                limits[to_text(dev, 20)] = (value, line)
    return limits


def _read_used(group: CgroupFiles, dev: str, v1: str, word: str, v2: str) -> float:
    for _, text in group.files.get(v1, ()):
        tokens = text.split()
        if len(tokens) == 3 and tokens[0] == dev.encode() and tokens[1] == word.encode():
            return parse_counter(tokens[2])
    for _, text in group.files.get("io.stat", ()):
        tokens = text.split()
        if tokens and tokens[0] == dev.encode():
            pairs = (pair.partition(b"=") for pair in tokens[1:])
            return next((parse_counter(value) for name, _, value in pairs if name == v2.encode()), 0.0)
    return 0.0 if "io.stat" in group.files else NAN


def _build_pressures(checks: CgroupSamples, path: str) -> list[Row]:
    first, last = checks.first(path), checks.last(path)
    rows: list[Row] = []
    for resource in _RESOURCES:
        shares = [
            _compute_share(
                _read_total(first, resource, kind), _read_total(last, resource, kind), checks.seconds
            )
            for kind in ("some", "full")
        ]
        if shares[0] is not None:
            line = last.line((f"{resource}.pressure", "some"))
            rows.append(((path, resource, *shares, checks.seconds), line))
    return rows


def _compute_share(before: float, after: float, seconds: float) -> float | None:
    """Percent of the time, from microseconds; a group that came later has no start."""
    grown = after - before
    return min(100.0, grown / 1e4 / seconds) if grown >= 0 and seconds > 0 else None


def _read_total(group: CgroupFiles, resource: str, kind: str) -> float:
    """`total=` of `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`."""
    for _, text in group.files.get(f"{resource}.pressure", ()):
        tokens = text.split()
        if tokens and tokens[0] == kind.encode():
            pairs = (pair.partition(b"=") for pair in tokens[1:])
            return next((parse_counter(value) for name, _, value in pairs if name == b"total"), NAN)
    return NAN


COLLECTOR = Collector(
    id="cgroup_io",
    title=Text("I/O limits of control groups", "控制组 I/O 限额"),
    why=Text(
        "Which containers and services use up their I/O limit, and how long their tasks waited for I/O.",
        "哪些容器与服务用尽 I/O 限额，其任务等待 I/O 的时间有多长。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "cgroup",
            Needs(tools=("find", "grep", "xargs"), remedy="mount the cgroup file systems; findutils, grep"),
            sh=cgroups.SH,
            share=cgroups.SHARE,
            command_line="grep -H '' io.{max,stat,pressure} blkio.throttle.* (of groups with a limit, for {seconds} s)",
            stop="TERM",
        ),
    ),
    parse=parse_cgroup_io,
    cost=Cost(
        0.2,
        1_000,
        Text("Two samples of the groups that have an I/O limit.", "对有 I/O 限额的控制组读取两次。"),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)

"""CPU limits of control groups, how often they struck, and what was used."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

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
    Series,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import cgroup_files
from collectors.parse.proc.cgroup_files import NOTHING, CgroupFiles, CgroupSamples
from collectors.parse.tables.tokens import NAN, parse_counter
from collectors.shell import cgroups

_MAX_BYTES = 16 << 20
_MAX_SERIES = 20
_COLUMNS = (
    Column("path"),
    Column("quota_cores"),
    Column("own_quota_cores"),
    Column("periods"),
    Column("throttled_periods"),
    Column("throttled_pct", "pct"),
    Column("throttled_s"),
    Column("usage_cores"),
    Column("weight"),
    Column("threads"),
    Column("seconds", "s"),
)
_COUNTED = ("tasks", "cgroup.threads")


def parse_cgroup_cpu(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each group: deltas between the first look and the last.

    `quota_cores` is the smallest quota of the group and all above it that were read; None without any. v1 counts
    throttled_time and cpuacct.usage in nanoseconds, v2 throttled_usec and usage_usec in microseconds. A group that
    came later counts from zero; a counter that fell gives None.
    """
    checks = cgroup_files.parse_cgroup_files(parts, _MAX_BYTES)
    if len(checks.samples) < 2:
        return Parsed(warnings=(*checks.warnings, Sentence("warning.too_few_samples")), readable=False)
    paths = [path for path in checks.paths() if path != "/" and checks.last(path).files.keys() - {*_COUNTED}]
    rows = tuple(_build_row(checks, path) for path in paths)
    lines = tuple(
        checks.last(path).line(("cpu.stat", "nr_throttled"), ("cpu.cfs_quota_us", ""), ("cpu.max", ""))
        for path in paths
    )
    series = tuple(series for path in paths[:_MAX_SERIES] for series in _build_series(checks, path, context))
    return Parsed(series, (Table("cgroup_cpu", _COLUMNS, rows, lines=lines),), warnings=checks.warnings)


def _build_row(cgroup_samples: CgroupSamples, path: str) -> tuple[str | int | float | None, ...]:
    first, last = cgroup_samples.first(path), cgroup_samples.last(path)
    quotas = [
        quota
        for ancestor in cgroup_files.list_ancestors(path)
        if (quota := _read_quota(cgroup_samples.last(ancestor))) is not None
    ]
    periods, throttled = (_compute_increase(first, last, name) for name in ("nr_periods", "nr_throttled"))
    share = 100.0 * throttled / periods if periods and throttled is not None else None
    usage_s = _compute_difference(_read_usage_s(first), _read_usage_s(last), fresh=not first.files)
    weights = [last.number(name) for name in ("cpu.weight", "cpu.shares")]
    return (
        path,
        min(quotas, default=None),
        _read_quota(last),
        periods,
        throttled,
        share,
        _compute_difference(_read_throttled_s(first), _read_throttled_s(last), fresh=not first.files),
        usage_s / cgroup_samples.seconds if usage_s is not None else None,
        next((value for value in weights if not math.isnan(value)), None),
        _read_threads(cgroup_samples, path),
        cgroup_samples.seconds,
    )


def _read_threads(cgroup_samples: CgroupSamples, path: str) -> float | None:
    """Threads of the group and of all below it that were counted, in the hierarchy that counts its CPU time."""
    inside = [item for item in cgroup_samples.paths() if item == path or item.startswith(path + "/")]
    for name in _COUNTED:
        counts = [count for item in inside if not math.isnan(count := cgroup_samples.last(item).number(name))]
        if counts:
            return sum(counts)
    return None


def _read_quota(group: CgroupFiles) -> float | None:
    """Cores; None where there is no limit."""
    quota, period = group.number("cpu.cfs_quota_us"), group.number("cpu.cfs_period_us")
    if both := group.text("cpu.max"):
        tokens = both.split()
        quota, period = (
            (parse_counter(tokens[0]), parse_counter(tokens[1])) if len(tokens) == 2 else (NAN, NAN)
        )
    return quota / period if quota >= 0 and period > 0 else None


def _compute_increase(first: CgroupFiles, last: CgroupFiles, key: str) -> float | None:
    return _compute_difference(
        first.named("cpu.stat", key), last.named("cpu.stat", key), fresh=not first.files
    )


def _compute_difference(before: float, after: float, *, fresh: bool) -> float | None:
    grown = after - (0.0 if fresh else before)
    return grown if grown >= 0 else None


def _read_usage_s(group: CgroupFiles) -> float:
    usec = group.named("cpu.stat", "usage_usec")
    return group.number("cpuacct.usage") / 1e9 if math.isnan(usec) else usec / 1e6


def _read_throttled_s(group: CgroupFiles) -> float:
    usec = group.named("cpu.stat", "throttled_usec")
    return group.named("cpu.stat", "throttled_time") / 1e9 if math.isnan(usec) else usec / 1e6


def _build_series(cgroup_samples: CgroupSamples, path: str, context: Context) -> list[Series]:
    """Use and throttling over time, where there were more than two looks."""
    if len(cgroup_samples.samples) < 3:
        return []
    groups = [
        CgroupFiles(check.groups[path]) if path in check.groups else NOTHING
        for check in cgroup_samples.samples
    ]
    boot_ns = np.array([check.boot_ns for check in cgroup_samples.samples], np.int64)
    seconds = np.diff(boot_ns) / 1e9
    used = np.diff([_read_usage_s(group) for group in groups])
    periods, throttled = (
        np.diff([group.named("cpu.stat", name) for group in groups])
        for name in ("nr_periods", "nr_throttled")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where((periods > 0) & (throttled >= 0), 100.0 * throttled / periods, np.nan)
        usage = np.where(used >= 0, 100.0 * used / seconds, np.nan)
    t_ns = context.clock.to_utc("boottime", boot_ns[1:])
    requested = (
        ("cgroup.cpu_usage_pct", usage, (("cpu.stat", "usage_usec"), ("cpuacct.usage", ""))),
        ("cgroup.cpu_throttled_pct", share, (("cpu.stat", "nr_throttled"),)),
    )
    return [
        Series(
            metric,
            t_ns,
            values.reshape(-1, 1),
            {"cgroup": path},
            lines=np.array([group.line(*where) for group in groups[1:]], np.int32),
        )
        for metric, values, where in requested
        if np.isfinite(values).any()
    ]


COLLECTOR = Collector(
    id="cgroup_cpu",
    title=Text("CPU limits of control groups", "控制组 CPU 限额"),
    why=Text(
        "Which containers and services reach their CPU limit, how often, and how much CPU they use.",
        "哪些容器与服务达到 CPU 限额、频率如何，以及使用了多少 CPU。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "cgroup",
            Needs(tools=("find", "grep", "xargs"), remedy="mount the cgroup file systems; findutils, grep"),
            sh=cgroups.SH,
            share=cgroups.SHARE,
            command_line="grep -H '' cpu.max cpu.stat cpu.cfs_* cpuacct.usage (of groups with a "
            "limit, for {seconds} s)",
            stop="TERM",
        ),
    ),
    parse=parse_cgroup_cpu,
    cost=Cost(
        0.2,
        2_000,
        Text(
            "Two samples of the groups that have a limit. The target's group is read every second.",
            "对有限额的控制组读取两次；目标控制组每秒一次。",
        ),
    ),
    yields=("cgroup.cpu_usage_pct", "cgroup.cpu_throttled_pct"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)

"""Rules about faulty disks and errors of file systems."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.disk import queues
from culprit.domain.rules.measures.disk import related as details
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-DISK-ILL",
        title=Text("A disk reports a fault", "磁盘自报故障"),
        summary=Text(
            "{dev}: {source} reports {state} ({value} signs of failure).",
            "{dev}：{source} 报告 {state}（{value} 项）。",
        ),
        measure=queues.ILL,
        op=">",
        thresholds=(("critical", Threshold("ill", 0.0, "reported by the device")),),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        suspects=("failing-disk",),
        related=(
            details.COUNTED_ERRORS,
            details.ERROR_LINES,
            MetricReading("disk.r_await_ms", "max"),
            MetricReading("disk.r_iops", "mean"),
        ),
        causes=("failing-disk",),
        refutes=("failing-disk",),
        harm=True,
        source="SMART, mdstat, device state; ioerr_cnt also counts rejected commands and is no evidence",
    ),
    Rule(
        id="F-DISK-ERRORS",
        title=Text("The kernel logs errors of a disk", "内核记录磁盘错误"),
        summary=Text(
            "The kernel log has {value} kinds of errors of {dev}.", "内核日志中 {dev} 有 {value} 组错误。"
        ),
        measure=queues.IO_ERRORS,
        op=">",
        thresholds=(("critical", Threshold("errors", 0.0, "a healthy disk has none")),),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        suspects=("failing-disk",),
        related=(
            details.ERROR_LINES,
            details.REFUSED_COMMANDS,
            MetricReading("disk.r_await_ms", "max"),
            MetricReading("disk.r_iops", "mean"),
        ),
        causes=("failing-disk",),
        refutes=("failing-disk",),
        harm=True,
        caveats=Text(
            "A cable, a controller or a removed disk causes the same messages.",
            "线缆、控制器或被拔出的磁盘也会如此。",
        ),
        source="I/O error, timeout and reset lines",
    ),
    Rule(
        id="F-FS-ERRORS",
        title=Text("The kernel logs errors of a file system", "内核记录文件系统错误"),
        summary=Text(
            "The kernel log has {value} kinds of file system errors of {dev}.",
            "{dev}：{value} 组文件系统错误。",
        ),
        measure=queues.FS_ERRORS,
        op=">",
        thresholds=(("critical", Threshold("errors", 0.0, "a healthy file system has none")),),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "errors"),
        related=(
            details.FS_ERROR_LINES,
            MetricReading("disk.r_await_ms", "max"),
            MetricReading("disk.w_await_ms", "max"),
        ),
        causes=("failing-disk",),
        harm=True,
        source="ext4, XFS and btrfs; may be left from an earlier crash",
    ),
)

"""Rules about what happens below file systems: deleted files, arrays, sessions, ceilings of a volume."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.disk import storage
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_COUNT = Threshold("count", 1.0, "one is enough")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FS-DELETED-OPEN",
        title=Text("Deleted files hold the space", "已删除的文件占用空间"),
        summary=Text(
            "Deleted open files hold {held_mb} MiB, {value} % of {mount}: mostly {comm} ({pid}), {largest}.",
            "已删除但仍打开的文件占用 {held_mb} MiB，为 {mount} 的 {value}%：主要是 {comm}（{pid}），{largest}。",
        ),
        measure=storage.DELETED,
        op=">=",
        thresholds=(("warn", Threshold("held", 5.0, "it would give back what F-FS-NEARLY-FULL lacks")),),
        also=(
            Condition(
                storage.USED, ">=", Threshold("used", 90.0, "a file system with room does not need it")
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "utilization"),
        causes=("deleted-open-file",),
        refutes=("deleted-open-file",),
        caveats=Text(
            "Databases and JVMs keep deleted temporary files on purpose.",
            "数据库与 JVM 会有意保留已删除的临时文件。",
        ),
        source="links of /proc/PID/fd that end in (deleted), with the blocks of the file (stat)",
    ),
    Rule(
        id="F-DISK-ARRAY-REBUILD",
        title=Text("An array rebuilds or is checked", "阵列正在重建或检查"),
        summary=Text(
            "{array}: {action}, {done_pct} % done, {mb_per_s} MB/s (arrays: {value}).",
            "{array}：{action}，已完成 {done_pct}%，{mb_per_s} MB/s（阵列数：{value}）。",
        ),
        measure=storage.REBUILDING,
        op=">=",
        thresholds=(("warn", _COUNT),),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        related=(MetricReading("disk.util_pct"),),
        causes=("array-rebuild",),
        refutes=("array-rebuild",),
        caveats=Text(
            "A rebuild gives way to other requests down to speed_limit_min.",
            "重建会让出带宽，最低到 speed_limit_min。",
        ),
        source="/proc/mdstat",
    ),
    Rule(
        id="F-DISK-SESSION-LOST",
        title=Text("The connection to a disk is lost", "与磁盘的连接已断开"),
        summary=Text(
            "{kind} {device} is {state}: requests to it wait or fail (disks: {value}).",
            "{kind} {device} 处于 {state}：请求等待或失败（磁盘数：{value}）。",
        ),
        measure=storage.LOST_SESSIONS,
        op=">=",
        thresholds=(("critical", _COUNT),),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        causes=("block-session-lost",),
        refutes=("block-session-lost",),
        harm=True,
        source="/sys/class/iscsi_session/*/state, /sys/block/*/device/state (scsi_transport_iscsi.c, scsi_sysfs.c)",
    ),
    Rule(
        id="F-DISK-CEILING",
        title=Text("A device works at a constant rate while requests queue", "设备以恒定速率工作而请求排队"),
        summary=Text(
            "{dev} does {rate} {of} a second, give or take {value} %, while requests queue.",
            "请求排队时 {dev} 每秒 {rate} {of}，波动仅 {value}%。",
        ),
        measure=storage.CEILING,
        op="<=",
        thresholds=(("warn", Threshold("variation", 5.0, "estimate: a token bucket gives a constant rate")),),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "saturation"),
        related=(
            MetricReading("disk.aqu"),
            MetricReading("disk.r_await_ms"),
            MetricReading("disk.w_await_ms"),
        ),
        causes=("volume-rate-limit",),
        caveats=Text(
            "A disk at its own physical limit looks alike. Compare with the limits of the volume at the provider.",
            "达到自身物理极限的磁盘与此相同，请与云厂商的卷限额核对。",
        ),
        source="/proc/diskstats: throughput against the queue, at least ten readings with two or more requests "
        "waiting, or five that are more regular than chance",
    ),
)

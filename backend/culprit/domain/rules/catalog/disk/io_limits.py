"""Rules about I/O that something holds back before a device sees it."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.disk import device_time, io_limits, queues
from culprit.domain.rules.rule import AnyCondition, Condition, Guard, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CGROUP-IO-LIMIT",
        title=Text("The I/O limit of a control group is used up", "控制组的 I/O 限额已用尽"),
        summary=Text(
            "{cgroup} uses {value} % of its limit of {per_s} ({limit} a second on {dev}), and its tasks wait.",
            "{cgroup} 使用了其限额的 {value}%（{dev} 上每秒 {limit} 限 {per_s}），其任务在等待。",
        ),
        measure=io_limits.LIMIT_USED,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "used",
                    90.0,
                    "the limiter grants slices of 100 ms: measured 94.6 % over 4 s, 99.9 to 101 % over 8 s",
                ),
            ),
        ),
        also=(
            AnyCondition(
                (
                    Condition(
                        io_limits.GROUP_PRESSURE,
                        ">",
                        Threshold(
                            "pressure", 10.0, "tasks of the group wait for I/O for a tenth of the time"
                        ),
                    ),
                    Condition(
                        io_limits.GROUP_BLOCKED,
                        ">=",
                        Threshold("blocked", 0.1, "with fewer, no thread lost a tenth of its time"),
                    ),
                )
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "saturation"),
        suspects=("io-throttled-by-cgroup",),
        causes=("io-throttled-by-cgroup",),
        refutes=("io-throttled-by-cgroup",),
        related=(
            device_time.WITHOUT_REQUEST,
            queues.BUSIEST,
            MetricReading("disk.r_await_ms", "mean"),
            MetricReading("cpu.total_iowait_pct", "mean"),
        ),
        caveats=Text(
            "A backup that is limited on purpose waits as well. Only requests of others show harm.",
            "被有意限速的备份同样会等待；只有其他请求受影响才算损害。",
        ),
        source="blkio.throttle.*_device against io_service_bytes and io_serviced (v1), io.max against io.stat (v2)",
    ),
    Rule(
        id="F-CGROUP-IO-HELD",
        title=Text("An I/O limit holds tasks before the device", "I/O 限额使任务在到达设备之前等待"),
        summary=Text(
            "{waiting} tasks of {cgroup} wait for I/O on average, and the devices work on {requests} requests of all "
            "groups: {value} wait before a device, under a limit on {dev}.",
            "{cgroup} 平均有 {waiting} 个任务等待 I/O，而设备总共只在处理所有控制组的 {requests} 个请求："
            "{value} 个因 {dev} 上的限额在到达设备之前等待。",
        ),
        measure=io_limits.HELD_TASKS,
        op=">=",
        thresholds=(("warn", Threshold("tasks", 0.5, "one task waits for more than half of the time")),),
        also=(
            Condition(
                io_limits.HELD_SHARE,
                ">",
                Threshold("share", 50.0, "requests at the device explain less than half of the waits"),
            ),
            Condition(
                io_limits.USED_WHILE_HELD,
                ">=",
                Threshold(
                    "granted", 90.0, "while it holds tasks, a limit is used; slices of 100 ms round it down"
                ),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "saturation"),
        suspects=("io-throttled-by-cgroup",),
        causes=("io-throttled-by-cgroup",),
        related=(device_time.WITHOUT_REQUEST, MetricReading("disk.w_await_ms", "mean")),
        caveats=Text(
            "A backup that is limited on purpose waits as well. Only requests of others show harm.",
            "被有意限速的备份同样会等待；只有其他请求受影响才算损害。",
        ),
        source="states of threads against requests in flight of /proc/diskstats (Little's law); block/blk-throttle.c",
    ),
    Rule(
        id="F-PROC-BLOCKED",
        title=Text("Tasks wait for I/O that no device works on", "任务等待 I/O，而设备并未处理"),
        summary=Text(
            "{waiting} tasks wait for I/O on average, and devices work on {requests} requests: {value} wait elsewhere.",
            "平均有 {waiting} 个任务等待 I/O，而设备只在处理 {requests} 个请求：{value} 个在别处等待。",
        ),
        measure=device_time.WITHOUT_REQUEST,
        op=">=",
        thresholds=(("warn", Threshold("tasks", 1.0, "at any time, at least one task waits in vain")),),
        also=(
            Condition(
                device_time.SHARE_WITHOUT_REQUEST,
                ">",
                Threshold("share", 50.0, "requests explain less than half of the waits"),
            ),
        ),
        guards=(
            Guard(
                Condition(queues.BUSIEST, "<", Threshold("busy", 50.0, "a busy disk explains the waits")),
                Sentence("guard.disk_busy"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        suspects=("dstate-pileup",),
        causes=("dstate-pileup",),
        related=(MetricReading("load.avg1", "last"), MetricReading("cpu.total_iowait_pct", "mean")),
        caveats=Text(
            "Tasks that need the same page or the same commit of a journal share a request.",
            "等待同一页或同一次日志提交的任务共用一个请求。",
        ),
        source="procs_blocked of /proc/stat against requests in flight of /proc/diskstats (Little's law)",
    ),
)

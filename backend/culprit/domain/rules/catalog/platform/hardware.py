"""Rules about the hardware: limited clock rates, heat, memory errors, lockups, clocks."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.platform import hardware as platform
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CPU-FREQ-CAPPED",
        title=Text("Settings limit the clock rate", "频率被设置限制"),
        summary=Text(
            "The CPUs are limited to {allowed_mhz} MHz of {most_mhz} MHz: {value} %.",
            "CPU 最高 {most_mhz} MHz，仅允许 {allowed_mhz} MHz，即 {value}%。",
        ),
        measure=platform.FREQUENCY_CAP,
        op="<",
        thresholds=(
            ("warn", Threshold("warn", 90.0, "estimate: a tenth slower")),
            ("critical", Threshold("critical", 60.0, "estimate")),
        ),
        strength=Strength.DIRECT,
        use=Use("cpu", "errors"),
        suspects=("cpu-frequency-limited",),
        related=(MetricReading("platform.cpu_freq_mhz", "mean"), MetricReading("cpu.total_busy_pct", "mean")),
        causes=("cpu-frequency-limited",),
        refutes=("cpu-frequency-limited",),
        caveats=Text("Turbo may be disabled by design.", "可能有意关闭睿频。"),
        source="scaling_max_freq and cpuinfo_max_freq of cpufreq",
    ),
    Rule(
        id="F-CPU-THERMAL",
        title=Text("CPUs are throttled because of heat", "CPU 因过热降频"),
        summary=Text("CPUs were throttled {value} times a second.", "CPU 每秒被限频 {value} 次。"),
        measure=MetricReading("platform.thermal_throttles_per_s", "mean"),
        op=">",
        thresholds=(("warn", Threshold("warn", 0.0, "the counter should not increase")),),
        strength=Strength.DIRECT,
        use=Use("cpu", "errors"),
        suspects=("cpu-frequency-limited",),
        related=(MetricReading("platform.cpu_freq_mhz", "mean"), MetricReading("cpu.total_busy_pct", "mean")),
        causes=("cpu-frequency-limited",),
        refutes=("cpu-frequency-limited",),
        caveats=Text("Short events during bursts have little effect.", "突发时的短暂事件影响很小。"),
        source="thermal_throttle/*_throttle_count",
    ),
    Rule(
        id="F-HW-MEMORY-ERRORS",
        title=Text("Memory errors", "内存错误"),
        summary=Text("{value} errors ({counter}) in the window.", "窗口内出现 {value} 次错误（{counter}）。"),
        measure=platform.MEMORY_ERRORS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.0, "the counter should not increase")),
            ("critical", Threshold("critical", 100.0, "estimate: a storm of corrections")),
        ),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        suspects=("hardware-error",),
        related=(
            platform.ERRORS_SINCE_BOOT,
            platform.UNCORRECTED,
            MetricReading("mem.hardware_corrupted_kb", "last"),
        ),
        causes=("hardware-error",),
        refutes=("hardware-error",),
        caveats=Text("An occasional corrected error is not a fault.", "偶发的可纠正错误并非故障。"),
        source="EDAC ue_count and ce_count",
    ),
    Rule(
        id="F-HW-MACHINE-CHECK",
        title=Text("Hardware errors", "硬件错误"),
        summary=Text(
            "The kernel log has {value} lines about hardware errors.", "内核日志中有 {value} 条硬件错误。"
        ),
        measure=platform.MACHINE_CHECKS,
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "none are expected")),),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        suspects=("hardware-error",),
        related=(platform.ERROR_LINES, MetricReading("mem.hardware_corrupted_kb", "last")),
        causes=("hardware-error",),
        refutes=("hardware-error",),
        harm=True,
        source="machine checks and EDAC in the kernel log",
    ),
    Rule(
        id="F-KERNEL-LOCKUP",
        title=Text("The kernel reports lockups", "内核报告锁死"),
        summary=Text(
            "{value} lines report stalls of CPUs or RCU.", "有 {value} 条日志报告 CPU 或 RCU 停滞。"
        ),
        measure=platform.LOCKUPS,
        op=">",
        thresholds=(("warn", Threshold("warn", 0.0, "none are expected")),),
        strength=Strength.CONTEXT,
        use=Use("kernel", "errors"),
        caveats=Text(
            "On a guest, a pause by the hypervisor is the typical reason.",
            "在虚拟机中，常因宿主机暂停所致。",
        ),
        source="soft and hard lockups, RCU stalls in the kernel log",
    ),
    Rule(
        id="F-CLOCK-OFFSET",
        title=Text("The clock has an offset", "时钟有偏差"),
        summary=Text(
            "{source} reports a clock offset of {value} ms.", "{source} 显示时钟偏差 {value} 毫秒。"
        ),
        measure=platform.CLOCK_OFFSET,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 50.0, "playbook: above, hosts cannot be compared over time")),
            ("critical", Threshold("critical", 1000.0, "estimate: a second")),
        ),
        strength=Strength.DIRECT,
        use=Use("kernel", "errors"),
        suspects=("clock-unsynchronised",),
        related=(platform.CLOCK_ERROR, platform.CLOCK_STRATUM),
        causes=("clock-unsynchronised",),
        refutes=("clock-unsynchronised",),
        harm=True,
        source="chrony, ntpd or the kernel",
    ),
    Rule(
        id="F-CLOCK-UNSYNCED",
        title=Text("The clock is not synchronized", "时钟未同步"),
        summary=Text(
            "No time service synchronizes this clock ({value}).", "没有时间服务校准本机时钟（{value}）。"
        ),
        measure=platform.CLOCK_UNSYNCHRONISED,
        op=">=",
        thresholds=(
            (
                "info",
                Threshold("info", 1.0, "flag of the kernel"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("kernel", "errors"),
        caveats=Text(
            "Guests may follow the clock of their hypervisor without reporting it.",
            "虚拟机可能跟随宿主机时钟而不显示。",
        ),
        source="STA_UNSYNC of adjtimex",
    ),
)

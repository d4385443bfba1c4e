"""Rules about the machine: capped clock rates, heat, failing memory, lockups, clocks."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Grade, Limit, Over, Rule
from culprit.core.rules.measures import platform

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CPU-FREQ-CAPPED",
        title=Text("Settings cap the clock rate", "频率被设置限制"),
        says=Text(
            "The CPUs may run at {allowed_mhz} MHz of {most_mhz} MHz: {value} %.",
            "CPU 最高 {most_mhz} MHz，仅允许 {allowed_mhz} MHz，即 {value}%。",
        ),
        measure=platform.FREQUENCY_CAP,
        op="<",
        levels=(
            ("warn", Limit("warn", 90.0, "own: a tenth slower")),
            ("critical", Limit("critical", 60.0, "own")),
        ),
        grade=Grade.DIRECT,
        beside=(Over("platform.cpu_freq_mhz", "mean"), Over("cpu.total_busy_pct", "mean")),
        causes=("cpu-frequency-limited",),
        refutes=("cpu-frequency-limited",),
        traps=Text("Turbo may be off on purpose.", "可能有意关闭睿频。"),
        source="scaling_max_freq and cpuinfo_max_freq of cpufreq",
    ),
    Rule(
        id="F-CPU-THERMAL",
        title=Text("Heat slows the CPUs down", "CPU 因过热降频"),
        says=Text("CPUs were throttled {value} times a second.", "CPU 每秒被限频 {value} 次。"),
        measure=Over("platform.thermal_throttles_per_s", "mean"),
        op=">",
        levels=(("warn", Limit("warn", 0.0, "a counter that should stand still")),),
        grade=Grade.DIRECT,
        beside=(Over("platform.cpu_freq_mhz", "mean"), Over("cpu.total_busy_pct", "mean")),
        causes=("cpu-frequency-limited",),
        refutes=("cpu-frequency-limited",),
        traps=Text("Short events during bursts cost little.", "突发时的短暂事件影响很小。"),
        source="thermal_throttle/*_throttle_count",
    ),
    Rule(
        id="F-HW-MEMORY-ERRORS",
        title=Text("Memory reports errors", "内存报告错误"),
        says=Text("{value} errors ({counter}) in the window.", "窗口内出现 {value} 次错误（{counter}）。"),
        measure=platform.MEMORY_ERRORS,
        op=">",
        levels=(
            ("warn", Limit("warn", 0.0, "a counter that should stand still")),
            ("critical", Limit("critical", 100.0, "own: a storm of corrections")),
        ),
        grade=Grade.DIRECT,
        beside=(platform.ERRORS_SINCE_BOOT, platform.UNCORRECTED, Over("mem.hardware_corrupted_kb", "last")),
        causes=("hardware-error",),
        refutes=("hardware-error",),
        traps=Text("A corrected error now and then is no fault.", "偶发的可纠正错误并非故障。"),
        source="EDAC ue_count and ce_count",
    ),
    Rule(
        id="F-HW-MACHINE-CHECK",
        title=Text("The hardware reports errors", "硬件报告错误"),
        says=Text(
            "{value} lines of the kernel's log tell of hardware errors.", "内核日志中有 {value} 条硬件错误。"
        ),
        measure=platform.MACHINE_CHECKS,
        op=">",
        levels=(("critical", Limit("critical", 0.0, "none are expected")),),
        grade=Grade.DIRECT,
        beside=(platform.ERROR_LINES, Over("mem.hardware_corrupted_kb", "last")),
        causes=("hardware-error",),
        refutes=("hardware-error",),
        source="machine checks and EDAC in the kernel's log",
    ),
    Rule(
        id="F-KERNEL-LOCKUP",
        title=Text("The kernel tells of lockups", "内核报告锁死"),
        says=Text(
            "{value} lines tell of CPUs or RCU that stood still.", "有 {value} 条日志报告 CPU 或 RCU 停滞。"
        ),
        measure=platform.LOCKUPS,
        op=">",
        levels=(("warn", Limit("warn", 0.0, "none are expected")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "On a guest, the host that paused it is the usual reason.",
            "在虚拟机中，常因宿主机暂停所致。",
        ),
        source="soft and hard lockups, RCU stalls in the kernel's log",
    ),
    Rule(
        id="F-CLOCK-OFFSET",
        title=Text("The clock is off", "时钟有偏差"),
        says=Text("{source} says that the clock is {value} ms off.", "{source} 显示时钟偏差 {value} 毫秒。"),
        measure=platform.CLOCK_OFFSET,
        op=">",
        levels=(
            ("warn", Limit("warn", 50.0, "playbook: above, hosts cannot be laid beside each other")),
            ("critical", Limit("critical", 1000.0, "own: a second")),
        ),
        grade=Grade.DIRECT,
        beside=(platform.CLOCK_ERROR, platform.CLOCK_STRATUM),
        causes=("clock-unsynchronised",),
        refutes=("clock-unsynchronised",),
        source="chrony, ntpd or the kernel",
    ),
    Rule(
        id="F-CLOCK-UNSYNCED",
        title=Text("Nothing keeps the clock", "时钟无人校准"),
        says=Text("No time service keeps this clock ({value}).", "没有时间服务校准本机时钟（{value}）。"),
        measure=platform.CLOCK_UNSYNCHRONISED,
        op=">=",
        levels=(
            (
                "info",
                Limit("info", 1.0, "the kernel's own flag"),
            ),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Guests may follow their hypervisor's clock without saying so.",
            "虚拟机可能跟随宿主机时钟而不显示。",
        ),
        source="STA_UNSYNC of adjtimex",
    ),
)

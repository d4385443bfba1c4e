"""Rules about what is held back: stopped, traced and frozen processes, file systems made read-only."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.platform import kernel_waits as waits
from culprit.domain.rules.rule import Rule, Threshold
from culprit.domain.rules.use_method import Use

_COUNT = Threshold("count", 1.0, "one is enough")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-PROC-STOPPED",
        title=Text("A process is stopped", "进程被停止"),
        summary=Text(
            "{comm} ({pid}) is stopped by a signal and runs nothing (processes: {value}).",
            "{comm}（{pid}）被信号停止，不执行任何代码（进程数：{value}）。",
        ),
        measure=waits.STOPPED,
        op=">=",
        thresholds=(("warn", _COUNT),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        causes=("process-stopped",),
        refutes=("process-stopped",),
        caveats=Text(
            "A job that a user put in the background of a terminal is stopped as intended.",
            "用户在终端中挂起的作业本就处于停止状态。",
        ),
        source="State of /proc/PID/status: T",
    ),
    Rule(
        id="F-PROC-TRACED",
        title=Text("A tracer is attached to a process", "进程被跟踪器附着"),
        summary=Text(
            "{tracer_comm} ({tracer}) traces {comm} ({pid}) (processes: {value}).",
            "{tracer_comm}（{tracer}）正在跟踪 {comm}（{pid}）（进程数：{value}）。",
        ),
        measure=waits.TRACED,
        op=">=",
        thresholds=(("warn", _COUNT),),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        causes=("tracer-attached",),
        refutes=("tracer-attached",),
        caveats=Text(
            "Sandboxes (bubblewrap, gVisor) and debuggers of a developer trace their own children.",
            "沙箱（bubblewrap、gVisor）与开发者的调试器会跟踪自己的子进程。",
        ),
        source="TracerPid of /proc/PID/status; each system call stops twice (ptrace(2), PTRACE_SYSCALL)",
    ),
    Rule(
        id="F-CGROUP-FROZEN",
        title=Text("A control group is frozen", "控制组被冻结"),
        summary=Text(
            "{cgroup} is frozen: none of its processes runs (groups: {value}).",
            "{cgroup} 被冻结，其中没有进程运行（控制组数：{value}）。",
        ),
        measure=waits.FROZEN,
        op=">=",
        thresholds=(("warn", _COUNT),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        causes=("cgroup-frozen",),
        refutes=("cgroup-frozen",),
        source="cgroup.freeze of v2, freezer.state of v1, with at least one process in the group",
    ),
    Rule(
        id="F-FS-FROZEN",
        title=Text("Writes wait for a frozen file system", "写入在等待被冻结的文件系统"),
        summary=Text(
            "A thread of {comm} waited {value} ms in {call}() at {path} before the write reached a device.",
            "{comm} 的一个线程在 {path} 的 {call}() 中等待了 {value} ms，写入尚未到达设备。",
        ),
        measure=waits.FROZEN_WRITE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second (Miller 1968)")),
            ("critical", Threshold("critical", 1000.0, "after a second users lose their flow of thought")),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "saturation"),
        causes=("filesystem-frozen",),
        refutes=("filesystem-frozen",),
        suspects=("filesystem-frozen",),
        caveats=Text(
            "A snapshot freezes a file system for a moment by design. Writes that create or remove files are not seen.",
            "快照会短暂冻结文件系统，属正常现象；创建或删除文件的操作不在此列。",
        ),
        source="wait channel of a write: percpu_rwsem_wait of s_writers (fs/super.c, freeze_super)",
    ),
    Rule(
        id="F-FS-READ-ONLY",
        title=Text("The kernel made a file system read-only", "内核将文件系统改为只读"),
        summary=Text(
            "{mount} ({fstype}) is mounted for writing, but its file system is read-only after an error ({value}).",
            "{mount}（{fstype}）以可写方式挂载，但出错后文件系统已变为只读（{value}）。",
        ),
        measure=waits.READ_ONLY,
        op=">=",
        thresholds=(("critical", _COUNT),),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        causes=("filesystem-read-only",),
        refutes=("filesystem-read-only",),
        harm=True,
        source="options of the mount and of its super block in /proc/self/mountinfo: only an error makes them differ",
    ),
)

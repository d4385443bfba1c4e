"""Causes that were left behind: stopped, traced and frozen processes, tracing, file systems made read-only."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_STUCK = ("worker-pool-exhausted", "listen-queue-overflow", "slow-dependency")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="process-stopped",
        title=Text("A process is stopped by a signal", "进程被信号停止"),
        what=Text(
            "SIGSTOP or SIGTSTP stopped the process. It keeps its sockets and locks, and answers nothing.",
            "进程被 SIGSTOP 或 SIGTSTP 停止，仍持有套接字与锁，但不应答。",
        ),
        fix=Text(
            "Continue it: kill -CONT PID. Find who stopped it.", "用 kill -CONT PID 恢复，并查明由谁停止。"
        ),
        risk=Text("None. Rollback: kill -STOP PID.", "无。回退：kill -STOP PID。"),
        verify=Text("Its state is S or R, and it answers.", "其状态为 S 或 R，并能应答。"),
        explains=_STUCK,
        mechanisms=("tracer",),
    ),
    Cause(
        id="cgroup-frozen",
        title=Text("A control group is frozen", "控制组被冻结"),
        what=Text(
            "docker pause, systemctl freeze or a checkpoint froze the group. Its processes answer nothing.",
            "docker pause、systemctl freeze 或检查点冻结了控制组，其中进程不应答。",
        ),
        fix=Text(
            "Thaw it: docker unpause, systemctl thaw, or write 0 to cgroup.freeze (THAWED to freezer.state).",
            "解冻：docker unpause、systemctl thaw，或向 cgroup.freeze 写 0（freezer.state 写 THAWED）。",
        ),
        risk=Text(
            "Clients may have given up. Rollback: freeze it again.", "客户端可能已放弃。回退：重新冻结。"
        ),
        verify=Text("The processes of the group run and answer.", "组内进程运行并应答。"),
        explains=_STUCK,
        mechanisms=(
            "tracer",
            "unknown",
        ),
    ),
    Cause(
        id="tracer-attached",
        title=Text("A tracer was left attached", "遗留了跟踪器"),
        what=Text(
            "strace, gdb or an agent traces the process. Each system call or signal stops it twice.",
            "strace、gdb 或某代理正在跟踪该进程，每次系统调用或信号都会停顿两次。",
        ),
        fix=Text("End the tracer; the process goes on.", "结束跟踪器，进程会继续运行。"),
        risk=Text(
            "A debugger that is killed can leave breakpoints behind. Detach it instead.",
            "被强制结束的调试器可能留下断点，请改用 detach。",
        ),
        verify=Text("TracerPid is 0.", "TracerPid 为 0。"),
        explains=("cpu-exhausted", *_STUCK),
        mechanisms=(
            "tracer",
            "running",
        ),
    ),
    Cause(
        id="kernel-tracing-on",
        title=Text("Tracing of the kernel was left on", "内核跟踪未关闭"),
        what=Text(
            "A tracer or events of ftrace are on. Each traced function or event costs CPU time on all CPUs.",
            "ftrace 的跟踪器或事件处于开启状态，每个被跟踪的函数或事件都消耗所有 CPU 的时间。",
        ),
        fix=Text(
            "Ask who traces. Then write nop to current_tracer and nothing to set_event.",
            "确认由谁开启，然后向 current_tracer 写入 nop，并清空 set_event。",
        ),
        risk=Text(
            "The trace of others ends. Rollback: turn it on again.", "他人的跟踪会结束。回退：重新开启。"
        ),
        verify=Text(
            "current_tracer is nop and set_event is empty.", "current_tracer 为 nop，set_event 为空。"
        ),
        explains=("cpu-exhausted",),
        mechanisms=("running",),
    ),
    Cause(
        id="filesystem-read-only",
        title=Text("The kernel made a file system read-only", "内核将文件系统改为只读"),
        what=Text(
            "After an I/O error or damage the file system allows no more writes. Each write fails with EROFS or EIO.",
            "发生 I/O 错误或损坏后，文件系统不再允许写入，每次写入都以 EROFS 或 EIO 失败。",
        ),
        fix=Text(
            "Read the kernel log for the error. Check the disk, then the file system (fsck on the unmounted device).",
            "查看内核日志中的错误；先检查磁盘，再对已卸载的设备运行 fsck。",
        ),
        risk=Text(
            "Remounting it for writing without a check can destroy data. Take a copy of the device first.",
            "未经检查就重新以可写方式挂载可能毁坏数据，请先备份设备。",
        ),
        verify=Text("It is writable, and the log shows no new error.", "可写，且日志无新错误。"),
        explains=_STUCK,
    ),
)
